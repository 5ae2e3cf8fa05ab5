"""Why a measured figure is what it is: verdicts over calls. Pure."""
