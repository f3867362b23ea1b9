"""Upstream files on the disk: downloading, verifying, unpacking, caching."""
