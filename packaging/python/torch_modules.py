"""Calls of modules of torch.nn become ranges of a recording: run by sitecustomize.py once PyTorch is imported."""
import atexit
import os
import sys
from ctypes import CFUNCTYPE, PyDLL, c_char_p, c_int32, c_uint64
from threading import local
from weakref import ref

HOOKS_OF_ROOTS, HOOKS_OF_ALL = 1, 2  # what the recorder wants: see recorder/pytorch/periods.c


def hook(torch):
    from torch.nn.modules import module as modules
    library = PyDLL(None)
    begin_call, end_call = library.warpsheet_module_begin, library.warpsheet_module_end
    begin_call.argtypes, begin_call.restype, end_call.restype = [c_char_p], None, None
    begin_root, end_root = library.warpsheet_root_begin, library.warpsheet_root_end
    begin_root.argtypes, begin_root.restype = [c_char_p, c_uint64], None
    end_root.restype = None
    wanted = c_int32.in_dll(library, "warpsheet_module_hooks")
    is_compiling, is_grad_enabled, Tensor = torch.compiler.is_compiling, torch.is_grad_enabled, torch.Tensor
    # asked first, in each call of each module: Dynamo takes both for constants, and this one takes a third of the time
    is_dynamo_compiling = getattr(torch.compiler, "is_dynamo_compiling", is_compiling)
    backward_task = getattr(torch._C, "_current_graph_task_id", lambda: -1)
    on_change = CFUNCTYPE(None)
    texts, inside, of_thread = {}, {}, local()
    instances = {}  # kind -> those of it that were called as a root, or stepped

    def instance_text(thing):
        """"Adam 2" of the second Adam, "Adam" of the first: programs that train several models have
        one each. There are no names for more than 16, which are made where they are used."""
        kind = type(thing).__name__
        known = instances.setdefault(kind, [])
        at = next((i for i, other in enumerate(known) if other() is thing), None)
        if at is None:
            at = next((i for i, other in enumerate(known) if other() is None), len(known))
            known[at:at + 1] = [ref(thing)] if at < 16 else []
        return "%s %d" % (kind, at + 1) if 0 < at < 16 else kind

    def look_inside(module):
        inside.update((id(below), ref(below)) for below in module.modules() if below is not module)

    def is_inside(module):
        """A new module may lie where one that is gone did."""
        below = inside.get(id(module))
        return below and below() is module

    def text_of(module, outer, root):
        """By the name that the caller, or else the root, has for it. One that is made where it is called has none: all
        are looked through for such ones once in a call of the root, not each time."""
        kind, inner = type(module).__name__, ""
        try:
            if not is_inside(module) and not of_thread.is_searched:
                look_inside(root)
                of_thread.is_searched = True
            if is_inside(module):
                inner = next(name for above in (outer, root) for name, below in above.named_modules() if below is module)
            else:
                look_inside(module)
        except Exception:  # it is in neither
            pass
        kind = kind if inner or module is not root else instance_text(module)
        return ("nn.Module: " + ("%s (%s)" % (inner, kind) if inner else kind)).encode()

    def shapes(value):
        if isinstance(value, Tensor):
            return tuple(value.shape)
        if isinstance(value, (list, tuple)):
            return tuple(shapes(v) for v in value)
        if isinstance(value, dict):
            return tuple(shapes(v) for v in value.values())
        return type(value).__name__

    def inputs_hash(module, inputs):
        """What a call works on, as far as it decides which operations it is."""
        seen = 0
        try:
            named = sys._getframe(2).f_locals.get("kwargs")  # of PyTorch's function that calls hooks, which get none
            seen = hash((module.training, is_grad_enabled(), shapes(inputs), shapes(named)))
        except Exception:  # a tensor that has no shape
            pass
        return seen & 0xffffffffffffffff

    # PyTorch calls a module in a fifth of the time if there is no hook at all. So where only calls of roots are wanted,
    # the hook of a root's begin removes itself, and a hook of this root alone ends its call.
    set_to = [HOOKS_OF_ALL]
    nopen = [0]  # calls that have begun, of all threads
    hidden = []  # the root that is called without hooks in it
    stale = []  # roots whose own hook could not be removed

    def set_hooks():
        """Those that the recorder wants. Calls that began with hooks of all modules end with them."""
        if wanted.value != HOOKS_OF_ALL and set_to[0] == HOOKS_OF_ALL and nopen[0]:
            return
        set_to[0] = wanted.value
        if set_to[0] == HOOKS_OF_ALL:
            after[at_end] = end
            always[at_end] = True
        else:
            after.pop(at_end, None)
            always.pop(at_end, None)
        if set_to[0] == HOOKS_OF_ALL or (set_to[0] == HOOKS_OF_ROOTS and not hidden):
            before[at_begin] = begin
        else:
            before.pop(at_begin, None)

    def hide_inner(root):
        hidden.append(root)
        before.pop(at_begin, None)
        root._forward_hooks[at_end] = end_hidden
        root._forward_hooks_always_called[at_end] = True

    def show(root):
        root._forward_hooks.pop(at_end, None)
        root._forward_hooks_always_called.pop(at_end, None)

    def end_hidden(root, _, __):
        if sys.exc_info()[0]:  # PyTorch may be iterating over these hooks
            stale.append(root)
        else:
            show(root)
        hidden.clear()
        set_hooks()
        end(root, None, None)

    def begin(module, inputs):
        if is_dynamo_compiling():
            return
        try:
            calls = of_thread.calls
        except AttributeError:
            calls = of_thread.calls = []
        if not calls:
            while stale:
                show(stale.pop())
            if set_to[0] != wanted.value:
                set_hooks()
        is_root = not calls and backward_task() == -1
        if set_to[0] != HOOKS_OF_ALL and not is_root:
            if not calls and not hidden and not is_compiling():
                hide_inner(module)
            return
        if is_compiling():
            return
        if not calls:
            of_thread.is_searched = False
        outer = calls[-1] if calls else module
        key = id(module), id(outer)
        known = texts.get(key)
        if not known or known[0]() is not module or known[1]() is not outer:
            if len(texts) > 50000 or len(inside) > 500000:
                texts.clear()
                inside.clear()
                of_thread.is_searched = False
            known = texts[key] = ref(module), ref(outer), text_of(module, outer, calls[0] if calls else module)
        if is_root:
            begin_root(known[2], inputs_hash(module, inputs))  # it may set other hooks
            if set_to[0] != HOOKS_OF_ALL:
                if hidden or set_to[0] != HOOKS_OF_ROOTS:
                    return
                hide_inner(module)
        begin_call(known[2])
        calls.append(module)
        nopen[0] += 1

    def end(module, _, __):
        if is_dynamo_compiling():
            return
        calls = getattr(of_thread, "calls", None)
        if not calls or (calls[-1] is not module and (len(calls) < 2 or not any(known is module for known in calls))):
            return
        while calls:
            end_call()
            nopen[0] -= 1
            if calls.pop() is module:
                break
        if not calls and backward_task() == -1:
            end_root()

    def step(optimizer, _, __):
        if set_to[0] < HOOKS_OF_ROOTS:
            return
        text = instance_text(optimizer)
        if text != type(optimizer).__name__:
            step_of(text.encode())

    before, after = modules._global_forward_pre_hooks, modules._global_forward_hooks
    always = modules._global_forward_hooks_always_called
    at_begin = modules.register_module_forward_pre_hook(begin).id
    at_end = modules.register_module_forward_hook(end, always_call=True).id
    library.warpsheet_on_module_hooks.argtypes, library.warpsheet_on_module_hooks.restype = [on_change], None
    hook.kept = on_change(set_hooks)  # until the program ends
    library.warpsheet_on_module_hooks(hook.kept)
    os.register_at_fork(after_in_child=set_hooks)
    atexit.register(library.warpsheet_on_module_hooks, on_change())
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
    step_of, stepped = library.warpsheet_optimizer, library.warpsheet_optimizer_stepped
    step_of.argtypes, step_of.restype, stepped.restype = [c_char_p], None, None
    register_optimizer_step_pre_hook(step)
    register_optimizer_step_post_hook(lambda *_: stepped())
