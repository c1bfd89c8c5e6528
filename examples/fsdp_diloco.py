"""DiLoCo over two replicas, each of which FSDP shards over two ranks: torchrun --nproc-per-node 4 fsdp_diloco.py."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from fedspec_use.replicas import exchange
from fedspec_use.torch import Server

mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replica", "shard"))
torch.manual_seed(0)
model = fully_shard(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)), mesh=mesh["shard"])
inner = torch.optim.AdamW(model.parameters(), lr=0.01)
outer = Server(model.parameters(), "diloco", lr=0.7, beta=0.9)
drawn = torch.Generator().manual_seed(dist.get_rank())
for t in range(10):
    server = [p.detach().clone() for p in model.parameters()]
    for _ in range(20):
        inputs = torch.randn(32, 8, generator=drawn)
        inner.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), inputs[:, :1].sin())
        loss.backward()
        inner.step()
    exchange(model.parameters(), server, mesh["replica"].get_group())
    outer.step()
    if dist.get_rank() == 0:
        print(f"round {t}: loss {loss.item():.3f}")
dist.destroy_process_group()
