"""Where the live page is found on the recorder's address."""

BASE_PATH = "/_hitrate"
