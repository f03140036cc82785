"""From the host to the device without waiting."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def to_device(values: np.ndarray | Tensor, device: torch.device) -> Tensor:
    """A copy on the device, which the host does not wait for; ``values`` may change at once.

    It passes through pinned memory, whose allocator keeps a block until all copies
    from it are done.
    """
    tensor = torch.from_numpy(np.ascontiguousarray(values)) if isinstance(values, np.ndarray) else values
    if device.type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)
