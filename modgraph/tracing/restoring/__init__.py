"""The model and the process put back as they were."""
