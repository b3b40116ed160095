"""The clusters of an environment of Confluent Cloud as metadata for the service `http`.

    export CONFLUENT_CLOUD_API_KEY=... CONFLUENT_CLOUD_API_SECRET=...
    python examples/listings/confluent_cloud.py streams.json --environment env-123abc --properties login.json

The key is a Cloud API key, not one of a cluster. The id of a cluster is its id at Confluent, `lkc-...`; the file with
the streams, which `listing.py` describes, selects clusters by their display names.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

from listing import Listed, Unknown, arguments, serve

API = "https://api.confluent.cloud"
TIMEOUT_S = 8
"""Less than the time limit of the connector's request, 10 s by default."""


def clusters(environment: str, get: Callable[[str], Any], api: str = API) -> Iterator[Listed]:
    """All clusters of the environment.

    Args:
        environment: Its id.
        get: Returns the JSON at a URL.
        api: The address of the API.
    """
    url = f"{api}/cmk/v2/clusters?{urlencode({'environment': environment, 'page_size': 100})}"
    while url:
        page = get(url)
        for cluster in page["data"]:
            spec, phase = cluster["spec"], cluster.get("status", {}).get("phase")
            # `SASL_SSL://host:port`
            servers = spec.get("kafka_bootstrap_endpoint", "").rpartition("://")[2]
            why = f"phase {phase}, kafka_bootstrap_endpoint '{servers}'"
            yield Listed(cluster["id"], spec["display_name"], servers or None, why)
        url = page.get("metadata", {}).get("next") or ""
        if url and urlsplit(url)[:2] != urlsplit(api)[:2]:
            raise Unknown("the next page is at another address, which does not get the key")


def getter(key: str, secret: str) -> Callable[[str], Any]:
    """Gets JSON with a Cloud API key."""
    login = base64.b64encode(f"{key}:{secret}".encode()).decode()

    def get(url: str) -> Any:
        with urlopen(Request(url, headers={"Authorization": f"Basic {login}"}), timeout=TIMEOUT_S) as response:
            return json.load(response)

    return get


def main() -> None:
    """Serve the clusters of the environment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--environment", required=True, help="id of the environment, env-...")
    parser.add_argument("--api", default=API, help=f"address of the API (default: {API})")
    options = arguments(parser)
    get = getter(os.environ["CONFLUENT_CLOUD_API_KEY"], os.environ["CONFLUENT_CLOUD_API_SECRET"])
    serve(options, lambda: clusters(options.environment, get, options.api))


if __name__ == "__main__":
    main()
