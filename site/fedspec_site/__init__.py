"""The pages of the site that are made of data: Markdown with HTML in it, which Sphinx reads."""
