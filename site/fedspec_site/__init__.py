"""Pages of the site that are generated from data, as Markdown with HTML for Sphinx."""
