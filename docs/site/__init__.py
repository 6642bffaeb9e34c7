"""The documentation site: `python -m docs.site.build FOLDER`, or `make docs`."""
