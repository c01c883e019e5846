"""Which model, draft, build and card go together: rules on tensors and metadata, each with its reason."""
