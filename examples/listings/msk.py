"""The clusters of Amazon MSK as metadata for the service `http`.

    pip install boto3
    python examples/listings/msk.py streams.json --region eu-central-1 --login SaslIam --properties iam.json

Region and credentials are those of boto3; they need `kafka:ListClustersV2` and `kafka:GetBootstrapBrokers`. The id of a
cluster is its name. `listing.py` describes the file with the streams.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from listing import Listed, arguments, serve

# The fields of GetBootstrapBrokers after `BootstrapBrokerString`; an empty one is plaintext.
LOGINS = [
    *("", "Tls", "SaslScram", "SaslIam", "PublicTls", "PublicSaslScram", "PublicSaslIam"),
    *("VpcConnectivityTls", "VpcConnectivitySaslScram", "VpcConnectivitySaslIam"),
]
# A cluster in another state may be without brokers. A few of these last for hours, while clients are served.
SERVING = {"ACTIVE", "HEALING", "MAINTENANCE", "REBOOTING_BROKER", "UPDATING"}


def clusters(client: Any, login: str) -> Iterator[Listed]:
    """All clusters of the account in the region.

    Args:
        client: `boto3.client("kafka")`.
        login: One of `LOGINS`.
    """
    field, token = f"BootstrapBrokerString{login}", None
    while True:
        page = client.list_clusters_v2(**({"NextToken": token} if token else {}))
        for cluster in page.get("ClusterInfoList", []):
            name, state = cluster["ClusterName"], cluster["State"]
            servers = None
            if state in SERVING:
                servers = client.get_bootstrap_brokers(ClusterArn=cluster["ClusterArn"]).get(field)
            yield Listed(name, name, servers or None, f"state {state}, no {field}")
        token = page.get("NextToken")
        if not token:
            return


def main() -> None:
    """Serve the clusters of the region."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--region", help="default: that of boto3")
    parser.add_argument("--endpoint", help="another address of the API. Default: that of the region")
    parser.add_argument("--login", choices=LOGINS, default="SaslIam", help="how clients log in (default: SaslIam)")
    options = arguments(parser)
    import boto3

    client = boto3.client("kafka", region_name=options.region, endpoint_url=options.endpoint)
    serve(options, lambda: clusters(client, options.login))


if __name__ == "__main__":
    main()
