"""Why a prompt that was sent before is not served from the cache. One cause, one file."""
