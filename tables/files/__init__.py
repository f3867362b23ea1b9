"""Upstream files on disk: downloading, verifying, unpacking, caching."""
