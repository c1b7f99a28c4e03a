"""What is known of packages that read the configuration of a project: file formats rather than libraries."""
