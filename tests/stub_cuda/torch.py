"""PyTorch as the scripts of ../gpu see it, for PYTHONPATH: what would run on a GPU is a launch of
the driver of this folder, and tensors are anything. It refuses what the real one is bad at: a
whole model compiled as one program, which takes minutes, or one for any shape."""
import contextlib
import ctypes
import os
import sys
import types
from unittest.mock import MagicMock

_driver = ctypes.CDLL("libcuda.so.1")
_driver.cuInit(0)
_launched = []
_kernel = b"torch_kernel"


def _launch(*_args, **_options):
    _driver.stub_driver_launch(_kernel, 1)  # which keeps where the name lies
    _launched.append(_kernel.decode())
    return MagicMock()


class Module:
    """Calling it is a launch; its own forward() is for real tensors."""
    __call__ = _launch
    register_buffer = MagicMock()

    def __init__(self, *layer, **_options):
        self.layers = layer[:1]

    def cuda(self):
        return self

    def parameters(self):
        return []

    def compile(self, dynamic=None):
        global _kernel
        if hasattr(self, "blocks") or dynamic is not False:
            raise RuntimeError("compiled as a whole, or for any shape")
        _kernel = b"triton_torch_kernel"


class CUDAGraph:
    def __init__(self):
        self.graph = ctypes.c_void_p()

    def replay(self):
        _driver.cuGraphLaunch(self.graph, None)


@contextlib.contextmanager
def _captured(graph):
    _driver.cuStreamBeginCapture_v2(None, 0)
    yield
    _driver.cuStreamEndCapture(None, ctypes.byref(graph.graph))


@contextlib.contextmanager
def _profile(activities):
    """As Kineto: subscribes to nothing, takes the buffers of whoever had them, disables at the end."""
    del activities
    cupti = ctypes.CDLL(os.environ["WARPSHEET_CUPTI_PATH"])
    cupti.cuptiActivityRegisterCallbacks(_driver.stub_profiler_request, _driver.stub_profiler_complete)
    before = len(_launched)
    yield types.SimpleNamespace(events=lambda: [
        types.SimpleNamespace(name=name, device_type=types.SimpleNamespace(name="CUDA"))
        for name in _launched[before:]])
    for kind in range(1, 60):
        cupti.cuptiActivityDisable(kind)


_dynamo = MagicMock()
__version__, version, backends, amp = "0 (stub)", MagicMock(), MagicMock(), MagicMock()
optim = types.SimpleNamespace(AdamW=lambda *_args, **_options: MagicMock(step=_launch))
profiler = types.SimpleNamespace(profile=_profile, ProfilerActivity=MagicMock())
nn = MagicMock(Module=Module, TransformerEncoder=Module, TransformerEncoderLayer=Module, ModuleList=list)
cuda = MagicMock(CUDAGraph=CUDAGraph, graph=_captured)
bfloat16, float16, channels_last = "bfloat16", "float16", "channels_last"
arange = autocast = manual_seed = ones = randint = randn = MagicMock()
sys.modules.update({"torch.nn": nn, "torch.profiler": profiler})
