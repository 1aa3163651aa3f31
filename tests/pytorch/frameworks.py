"""Programs of libraries that train or infer with PyTorch: frameworks.py NAME. Each prints what a report must find, as
steps.py does, or ends with 77 where its library is not installed."""
import os
import sys
import tempfile

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import torchvision  # noqa: F401  of timm, and of others where it is installed
except ImportError:
    pass
except RuntimeError:
    # pip's build is for CUDA and cannot load its operators beside a PyTorch for CPUs; nothing here calls them
    for name in "nms", "qnms":
        torch.library.define("torchvision::" + name, "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def trainer():
    """Hugging Face's, with accumulated gradients and two evaluations before the end."""
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
    model = BertForSequenceClassification(BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=100))
    data = [{"input_ids": torch.zeros(16, dtype=torch.long), "labels": torch.tensor(i % 2)} for i in range(96)]
    with tempfile.TemporaryDirectory() as folder:
        done = Trainer(model, TrainingArguments(
            output_dir=folder, per_device_train_batch_size=4, gradient_accumulation_steps=2, num_train_epochs=1,
            eval_strategy="steps", eval_steps=4, report_to=[], save_strategy="no", use_cpu=True,
            disable_tqdm=True), train_dataset=data, eval_dataset=data[:48])
        done.train()
    # the first step is none; the last evaluation is behind the last step
    evaluations = sum("eval_loss" in entry for entry in done.state.log_history) - 1
    return done.state.global_step - 1 - evaluations, evaluations


def generate():
    from transformers import LlamaConfig, LlamaForCausalLM
    model = LlamaForCausalLM(LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                         num_attention_heads=4, vocab_size=200)).eval()
    with torch.inference_mode():
        for _ in range(2):
            model.generate(torch.full((1, 40), 7), max_new_tokens=12, min_new_tokens=12, do_sample=False, pad_token_id=0)
    return 22, 2


def lightning():
    """Manual optimization of two models, with a validation behind each of three epochs."""
    import lightning as L

    class Gan(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.g, self.d = nn.Linear(16, 16), nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
            self.automatic_optimization, self.iterations = False, 0

        def training_step(self, batch, _):
            for optimizer, loss in ((self.optimizers()[1], lambda x: self.d(self.g(x).detach()).mean() - self.d(x).mean()),
                                    (self.optimizers()[0], lambda x: -self.d(self.g(x)).mean())):
                optimizer.zero_grad()
                self.manual_backward(loss(batch[0]))
                optimizer.step()
            self.iterations += 1

        def validation_step(self, batch, _):
            self.d(self.g(batch[0]))

        def configure_optimizers(self):
            return torch.optim.Adam(self.g.parameters()), torch.optim.Adam(self.d.parameters())
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(80, 16)), batch_size=8)
    gan = Gan()
    L.Trainer(max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
              enable_model_summary=False).fit(gan, data, data)
    return gan.iterations - 1 - 2, 2


def accelerate():
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Linear(8, 1)
    model, optimizer, data = accelerator.prepare(
        model, torch.optim.AdamW(model.parameters()),
        torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(160, 8)), batch_size=4))
    for batch, in data:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).mean())
            optimizer.step()
            optimizer.zero_grad()
    return 19, 0


def timm():
    import timm as library
    model = library.create_model("resnet18").eval()
    with torch.no_grad():
        for _ in range(16):
            model(torch.ones(1, 3, 64, 64))
    return 16, 0


def unet():
    from diffusers import UNet2DModel
    return UNet2DModel(sample_size=16, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(32, 32),
                       down_block_types=("DownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "UpBlock2D"))


def diffusion():
    """Trains the model of a diffusion, which draws images by its pipeline behind every tenth step."""
    from diffusers import DDPMPipeline, DDPMScheduler
    model, scheduler = unet(), DDPMScheduler(num_train_timesteps=100)
    optimizer = torch.optim.AdamW(model.parameters())
    for i in range(41):
        noise, t = torch.randn(4, 1, 16, 16), torch.randint(0, 100, (4,))
        optimizer.zero_grad()
        noisy = scheduler.add_noise(torch.ones(4, 1, 16, 16), noise, t)
        nn.functional.mse_loss(model(noisy, t).sample, noise).backward()
        optimizer.step()
        if i % 10 == 9:
            pipeline = DDPMPipeline(model, scheduler)
            pipeline.set_progress_bar_config(disable=True)
            pipeline(num_inference_steps=4, output_type="np")
            model.train()
    return 36, 4


def diffusers():
    from diffusers import DDPMScheduler
    model = unet().eval()
    noise, image = DDPMScheduler(), torch.ones(1, 1, 16, 16)
    noise.set_timesteps(16)
    with torch.no_grad():
        for t in noise.timesteps:
            image = noise.step(model(image, t).sample, t, image).prev_sample
    return 16, 0


def main():
    try:
        steps, apart = globals()[sys.argv[1]]()
    except ImportError as error:
        print(error)
        sys.exit(77)
    print(f"steps {steps} apart {apart}")


if __name__ == "__main__":
    main()
