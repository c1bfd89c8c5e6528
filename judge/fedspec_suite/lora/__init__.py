"""Laws of federated LoRA, asked of any function that mixes adapters: nothing is trained."""
