"""Laws of federated LoRA, checked on a function that aggregates clients' adapters; nothing is trained."""
