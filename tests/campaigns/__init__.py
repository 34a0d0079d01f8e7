"""Long random tests against oracles of their own: bounded in `make test`, long in `make soak`."""
