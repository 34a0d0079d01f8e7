"""citewise: ask your own documents, and get answers that point at their sources.

Public names are resolved on first use: Python runs this file before any submodule, so an eager import here would
pull a store into every one of them.
"""


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("citewise")
    raise AttributeError(f"module 'citewise' has no attribute {name!r}")
