"""The documentation as a website (`make extra NAME=site`)."""
