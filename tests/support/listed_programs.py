"""Twenty small programs, as people write them, each run forward and backward."""

from __future__ import annotations

from typing import Any


def scalars(torch: Any) -> None:
    """A few scalars, one of them used more than once."""
    torch.manual_seed(0)
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    c = a * b
    d = c + a**2
    e = d / (b - 1)
    loss = e.exp() + c
    loss.backward()


def mlp_trained(torch: Any) -> None:
    """A multilayer perceptron trained for ten steps with SGD."""
    torch.manual_seed(0)
    nn = torch.nn
    inputs = torch.randn(16, 4)
    targets = inputs.sum(dim=1, keepdim=True)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(10):
        optimizer.zero_grad()
        predictions = model(inputs)
        loss = criterion(predictions, targets)
        loss.backward()
        optimizer.step()


def small_resnet(torch: Any) -> None:
    """A small residual network for images, with projection shortcuts."""
    torch.manual_seed(0)
    nn = torch.nn
    F = torch.nn.functional

    class ResidualBlock(nn.Module):
        def __init__(self, in_channels, out_channels, stride=1):
            super().__init__()
            self.conv1 = nn.Conv2d(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(out_channels)
            self.conv2 = nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(out_channels)
            if stride != 1 or in_channels != out_channels:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(in_channels, out_channels, 1, stride=stride, bias=False),
                    nn.BatchNorm2d(out_channels),
                )
            else:
                self.shortcut = nn.Identity()

        def forward(self, x):
            out = F.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            return F.relu(out + self.shortcut(x))

    class SmallResNet(nn.Module):
        def __init__(self, num_classes=10):
            super().__init__()
            self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=False)
            self.bn = nn.BatchNorm2d(8)
            self.pool = nn.MaxPool2d(2)
            self.layer1 = ResidualBlock(8, 8)
            self.layer2 = ResidualBlock(8, 16, stride=2)
            self.fc = nn.Linear(16, num_classes)

        def forward(self, x):
            x = self.pool(F.relu(self.bn(self.conv(x))))
            x = self.layer2(self.layer1(x))
            x = x.mean(dim=(2, 3))
            return self.fc(x)

    images = torch.randn(2, 3, 16, 16)
    labels = torch.tensor([3, 7])
    model = SmallResNet()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()


def unet(torch: Any) -> None:
    """A U-Net with two levels down, two up, and concatenated skips."""
    torch.manual_seed(0)
    nn = torch.nn
    F = torch.nn.functional

    class DoubleConv(nn.Module):
        def __init__(self, in_channels, out_channels):
            super().__init__()
            self.layers = nn.Sequential(
                nn.Conv2d(in_channels, out_channels, 3, padding=1),
                nn.BatchNorm2d(out_channels),
                nn.ReLU(),
                nn.Conv2d(out_channels, out_channels, 3, padding=1),
                nn.BatchNorm2d(out_channels),
                nn.ReLU(),
            )

        def forward(self, x):
            return self.layers(x)

    def upsample(x):
        batch_size, channels, height, width = x.shape
        x = x[:, :, :, None, :, None].repeat(1, 1, 1, 2, 1, 2)
        return x.reshape(batch_size, channels, 2 * height, 2 * width)

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down1 = DoubleConv(1, 4)
            self.down2 = DoubleConv(4, 8)
            self.bottleneck = DoubleConv(8, 16)
            self.up2 = DoubleConv(16 + 8, 8)
            self.up1 = DoubleConv(8 + 4, 4)
            self.head = nn.Conv2d(4, 1, 1)

        def forward(self, x):
            skip1 = self.down1(x)
            skip2 = self.down2(F.max_pool2d(skip1, 2))
            x = self.bottleneck(F.max_pool2d(skip2, 2))
            x = self.up2(torch.cat([upsample(x), skip2], dim=1))
            x = self.up1(torch.cat([upsample(x), skip1], dim=1))
            return self.head(x)

    images = torch.randn(2, 1, 16, 16)
    masks = (torch.rand(2, 1, 16, 16) > 0.5).float()
    model = UNet()
    loss = F.binary_cross_entropy_with_logits(model(images), masks)
    loss.backward()


def lstm_tagger(torch: Any) -> None:
    """A part-of-speech tagger: an embedding, an LSTM and a linear layer."""
    torch.manual_seed(0)
    nn = torch.nn
    F = torch.nn.functional

    class LSTMTagger(nn.Module):
        def __init__(self, vocab_size, embedding_dim, hidden_dim, num_tags):
            super().__init__()
            self.embedding = nn.Embedding(vocab_size, embedding_dim)
            self.lstm = nn.LSTM(embedding_dim, hidden_dim, batch_first=True)
            self.hidden_to_tag = nn.Linear(hidden_dim, num_tags)

        def forward(self, sentences):
            embedded = self.embedding(sentences)
            hidden_states, _ = self.lstm(embedded)
            return self.hidden_to_tag(hidden_states)

    sentences = torch.randint(0, 20, (3, 6))
    tags = torch.randint(0, 5, (3, 6))
    model = LSTMTagger(vocab_size=20, embedding_dim=8, hidden_dim=12, num_tags=5)
    scores = model(sentences)
    loss = F.cross_entropy(scores.reshape(-1, 5), tags.reshape(-1))
    loss.backward()


def attention(torch: Any) -> None:
    """Multi-head self-attention by hand, with a causal mask."""
    torch.manual_seed(0)
    nn = torch.nn
    F = torch.nn.functional

    class MultiHeadAttention(nn.Module):
        def __init__(self, embed_dim, num_heads):
            super().__init__()
            self.num_heads = num_heads
            self.head_dim = embed_dim // num_heads
            self.query = nn.Linear(embed_dim, embed_dim)
            self.key = nn.Linear(embed_dim, embed_dim)
            self.value = nn.Linear(embed_dim, embed_dim)
            self.out = nn.Linear(embed_dim, embed_dim)

        def split_heads(self, x):
            batch_size, length, _ = x.shape
            return x.view(batch_size, length, self.num_heads, self.head_dim).transpose(1, 2)

        def forward(self, x):
            batch_size, length, embed_dim = x.shape
            q = self.split_heads(self.query(x))
            k = self.split_heads(self.key(x))
            v = self.split_heads(self.value(x))
            scores = q @ k.transpose(-2, -1) / self.head_dim**0.5
            mask = torch.triu(torch.ones(length, length), diagonal=1).bool()
            scores = scores.masked_fill(mask, float("-inf"))
            weights = F.softmax(scores, dim=-1)
            context = (weights @ v).transpose(1, 2).contiguous().view(batch_size, length, embed_dim)
            return self.out(context)

    x = torch.randn(2, 5, 8, requires_grad=True)
    target = torch.randn(2, 5, 8)
    model = MultiHeadAttention(embed_dim=8, num_heads=2)
    loss = F.mse_loss(model(x), target)
    loss.backward()


def small_gpt(torch: Any) -> None:
    """A two-block GPT whose head shares its weight with the token embedding."""
    torch.manual_seed(0)
    nn = torch.nn
    F = torch.nn.functional

    class CausalSelfAttention(nn.Module):
        def __init__(self, n_embd, n_head):
            super().__init__()
            self.n_head = n_head
            self.qkv = nn.Linear(n_embd, 3 * n_embd)
            self.proj = nn.Linear(n_embd, n_embd)

        def forward(self, x):
            B, T, C = x.size()
            q, k, v = self.qkv(x).split(C, dim=2)
            q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
            k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
            v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
            att = (q @ k.transpose(-2, -1)) * (C // self.n_head) ** -0.5
            causal = torch.tril(torch.ones(T, T))
            att = att.masked_fill(causal == 0, float("-inf"))
            att = F.softmax(att, dim=-1)
            y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
            return self.proj(y)

    class Block(nn.Module):
        def __init__(self, n_embd, n_head):
            super().__init__()
            self.ln1 = nn.LayerNorm(n_embd)
            self.attn = CausalSelfAttention(n_embd, n_head)
            self.ln2 = nn.LayerNorm(n_embd)
            self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

        def forward(self, x):
            x = x + self.attn(self.ln1(x))
            x = x + self.mlp(self.ln2(x))
            return x

    class GPT(nn.Module):
        def __init__(self, vocab_size, block_size, n_embd, n_head, n_layer):
            super().__init__()
            self.token_embedding = nn.Embedding(vocab_size, n_embd)
            self.position_embedding = nn.Embedding(block_size, n_embd)
            self.blocks = nn.ModuleList([Block(n_embd, n_head) for _ in range(n_layer)])
            self.ln_f = nn.LayerNorm(n_embd)
            self.head = nn.Linear(n_embd, vocab_size, bias=False)
            self.head.weight = self.token_embedding.weight

        def forward(self, idx):
            positions = torch.arange(idx.size(1))
            x = self.token_embedding(idx) + self.position_embedding(positions)
            for block in self.blocks:
                x = block(x)
            return self.head(self.ln_f(x))

    tokens = torch.randint(0, 16, (2, 9))
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    model = GPT(vocab_size=16, block_size=8, n_embd=12, n_head=3, n_layer=2)
    logits = model(inputs)
    loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), targets.reshape(-1))
    loss.backward()


def vae(torch: Any) -> None:
    """A variational autoencoder with the reparameterization trick."""
    torch.manual_seed(0)
    nn = torch.nn
    F = torch.nn.functional

    class VAE(nn.Module):
        def __init__(self, input_dim, hidden_dim, latent_dim):
            super().__init__()
            self.encoder = nn.Linear(input_dim, hidden_dim)
            self.to_mu = nn.Linear(hidden_dim, latent_dim)
            self.to_logvar = nn.Linear(hidden_dim, latent_dim)
            self.decoder = nn.Sequential(
                nn.Linear(latent_dim, hidden_dim),
                nn.ReLU(),
                nn.Linear(hidden_dim, input_dim),
                nn.Sigmoid(),
            )

        def encode(self, x):
            hidden = F.relu(self.encoder(x))
            return self.to_mu(hidden), self.to_logvar(hidden)

        def reparameterize(self, mu, logvar):
            std = torch.exp(0.5 * logvar)
            eps = torch.randn_like(std)
            return mu + eps * std

        def forward(self, x):
            mu, logvar = self.encode(x)
            z = self.reparameterize(mu, logvar)
            return self.decoder(z), mu, logvar

    images = torch.rand(4, 12)
    model = VAE(input_dim=12, hidden_dim=8, latent_dim=2)
    reconstruction, mu, logvar = model(images)
    reconstruction_loss = F.binary_cross_entropy(reconstruction, images, reduction="sum")
    kl_divergence = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    loss = reconstruction_loss + kl_divergence
    loss.backward()


def gan_step(torch: Any) -> None:
    """One training step of a GAN: first the discriminator, then the generator."""
    torch.manual_seed(0)
    nn = torch.nn
    generator = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    discriminator = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    real = torch.randn(6, 2) + 2.0
    noise = torch.randn(6, 3)
    real_labels = torch.ones(6, 1)
    fake_labels = torch.zeros(6, 1)

    optimizer_d.zero_grad()
    fake = generator(noise)
    loss_real = criterion(discriminator(real), real_labels)
    loss_fake = criterion(discriminator(fake.detach()), fake_labels)
    loss_d = loss_real + loss_fake
    loss_d.backward()
    optimizer_d.step()

    optimizer_g.zero_grad()
    loss_g = criterion(discriminator(fake), real_labels)
    loss_g.backward()
    optimizer_g.step()


def gradient_penalty(torch: Any) -> None:
    """The critic's loss of a WGAN-GP: the gradient's norm is part of the loss."""
    torch.manual_seed(0)
    nn = torch.nn
    critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    real = torch.randn(5, 2) + 1.0
    fake = torch.randn(5, 2)
    alpha = torch.rand(5, 1)
    interpolated = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    scores = critic(interpolated)
    (gradients,) = torch.autograd.grad(
        outputs=scores,
        inputs=interpolated,
        grad_outputs=torch.ones_like(scores),
        create_graph=True,
    )
    penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
    loss.backward()


def hessian_of_two(torch: Any) -> None:
    """The second derivatives of a function of two scalars."""
    torch.manual_seed(0)
    x = torch.tensor(1.5, requires_grad=True)
    y = torch.tensor(-0.5, requires_grad=True)
    z = x**3 * y + torch.sin(x * y)
    dz_dx, dz_dy = torch.autograd.grad(z, (x, y), create_graph=True)
    rows = []
    for first_derivative in (dz_dx, dz_dy):
        second_derivatives = torch.autograd.grad(first_derivative, (x, y), retain_graph=True)
        rows.append(torch.stack(second_derivatives))
    torch.stack(rows)


def maml_step(torch: Any) -> None:
    """One step of MAML: the outer loss is differentiated through the inner step."""
    torch.manual_seed(0)
    F = torch.nn.functional
    inner_lr = 0.1

    def predict(x, params):
        w1, b1, w2, b2 = params
        hidden = torch.tanh(F.linear(x, w1, b1))
        return F.linear(hidden, w2, b2)

    params = [
        torch.randn(8, 1, requires_grad=True),
        torch.zeros(8, requires_grad=True),
        torch.randn(1, 8, requires_grad=True),
        torch.zeros(1, requires_grad=True),
    ]
    meta_optimizer = torch.optim.Adam(params, lr=1e-3)

    meta_optimizer.zero_grad()
    outer_loss = 0.0
    for amplitude in (0.5, 2.0):
        x_support, x_query = torch.randn(5, 1), torch.randn(5, 1)
        y_support, y_query = amplitude * torch.sin(x_support), amplitude * torch.sin(x_query)
        inner_loss = F.mse_loss(predict(x_support, params), y_support)
        grads = torch.autograd.grad(inner_loss, params, create_graph=True)
        adapted = [p - inner_lr * g for p, g in zip(params, grads, strict=True)]
        outer_loss = outer_loss + F.mse_loss(predict(x_query, adapted), y_query)
    outer_loss.backward()
    meta_optimizer.step()


def recursive_tree(torch: Any) -> None:
    """A network that follows the shape of a parse tree by recursion."""
    torch.manual_seed(0)
    nn = torch.nn
    F = torch.nn.functional

    class TreeNet(nn.Module):
        def __init__(self, vocab_size, dim, num_classes):
            super().__init__()
            self.embedding = nn.Embedding(vocab_size, dim)
            self.combine = nn.Linear(2 * dim, dim)
            self.classify = nn.Linear(dim, num_classes)

        def encode(self, tree):
            if isinstance(tree, int):
                return self.embedding(torch.tensor(tree))
            left, right = tree
            children = torch.cat([self.encode(left), self.encode(right)])
            return torch.tanh(self.combine(children))

        def forward(self, tree):
            return self.classify(self.encode(tree))

    model = TreeNet(vocab_size=10, dim=6, num_classes=2)
    tree = ((0, (1, 2)), ((3, 4), (5, (6, 7))))
    logits = model(tree)
    loss = F.cross_entropy(logits.unsqueeze(0), torch.tensor([1]))
    loss.backward()


def rnn_by_hand(torch: Any) -> None:
    """A recurrent network written out by hand, for twenty rounds."""
    torch.manual_seed(0)
    input_size, hidden_size, batch_size, num_steps = 3, 5, 2, 20
    W_xh = (torch.randn(input_size, hidden_size) * 0.3).requires_grad_()
    W_hh = (torch.randn(hidden_size, hidden_size) * 0.3).requires_grad_()
    b_h = torch.zeros(hidden_size, requires_grad=True)
    W_hy = (torch.randn(hidden_size, 1) * 0.3).requires_grad_()
    inputs = torch.randn(num_steps, batch_size, input_size)
    targets = torch.randn(num_steps, batch_size, 1)

    h = torch.zeros(batch_size, hidden_size)
    loss = 0.0
    for t in range(num_steps):
        h = torch.tanh(inputs[t] @ W_xh + h @ W_hh + b_h)
        y = h @ W_hy
        loss = loss + ((y - targets[t]) ** 2).mean()
    loss = loss / num_steps
    loss.backward()


def straight_through(torch: Any) -> None:
    """Custom functions: a straight-through sign, and one with three outputs."""
    torch.manual_seed(0)

    class BinarizeSTE(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return grad_output * (x.abs() <= 1).float()

    class SplitBySign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            mask = x > 0
            positive = x * mask
            negative = x * ~mask
            ctx.save_for_backward(mask)
            ctx.mark_non_differentiable(mask)
            return positive, negative, mask

        @staticmethod
        def backward(ctx, grad_positive, grad_negative, grad_mask):
            (mask,) = ctx.saved_tensors
            return torch.where(mask, grad_positive, grad_negative)

    x = torch.randn(4, 3)
    weight = torch.randn(3, 2, requires_grad=True)
    binary_weight = BinarizeSTE.apply(weight)
    output = x @ binary_weight
    positive, negative, mask = SplitBySign.apply(output)
    loss = positive.sum() + 0.1 * (negative**2).sum() + mask.float().mean()
    loss.backward()


def per_sample_gradients(torch: Any) -> None:
    """The gradient of every sample's own loss, with vmap of grad."""
    torch.manual_seed(0)
    nn = torch.nn
    F = torch.nn.functional
    model = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2))
    params = {name: p.detach() for name, p in model.named_parameters()}
    inputs = torch.randn(5, 3)
    labels = torch.randint(0, 2, (5,))

    def compute_loss(params, sample, label):
        logits = torch.func.functional_call(model, params, (sample.unsqueeze(0),))
        return F.cross_entropy(logits, label.unsqueeze(0))

    per_sample_grad = torch.func.vmap(torch.func.grad(compute_loss), in_dims=(None, 0, 0))
    gradients = per_sample_grad(params, inputs, labels)
    sum(g.flatten(1).pow(2).sum(dim=1) for g in gradients.values()).sqrt()


def spring(torch: Any) -> None:
    """A mass on a spring over sixty steps; how far it lands depends on the stiffness."""
    torch.manual_seed(0)
    stiffness = torch.tensor(4.0, requires_grad=True)
    mass, damping, dt = 1.0, 0.1, 0.05
    position = torch.tensor(1.0)
    velocity = torch.tensor(0.0)
    for _ in range(60):
        force = -stiffness * position - damping * velocity
        velocity = velocity + force / mass * dt
        position = position + velocity * dt
    loss = (position - 0.5) ** 2
    loss.backward()


def branch_on_data(torch: Any) -> None:
    """A loop whose branch, and whose length, depends on the values."""
    torch.manual_seed(0)
    x = torch.tensor([0.5, -1.0, 0.2], requires_grad=True)
    scale = torch.tensor(1.7, requires_grad=True)
    y = x * 2
    steps = 0
    while y.norm() < 20 and steps < 12:
        if y.sum() < 0:
            y = y.abs() + 1
        elif y.max() > 4:
            y = y - 2 * y.mean()
        else:
            y = y * scale
        steps += 1
    loss = y.pow(2).mean()
    loss.backward()


def held_model(torch: Any) -> None:
    """A trainer that holds its network and takes a step with Adam and clipping."""
    torch.manual_seed(0)
    nn = torch.nn

    class Trainer:
        def __init__(self, lr=1e-2, max_norm=1.0):
            self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
            self.optimizer = torch.optim.Adam(self.net.parameters(), lr=lr)
            self.criterion = nn.CrossEntropyLoss()
            self.max_norm = max_norm
            self.losses = []

        def training_step(self, inputs, labels):
            self.net.train()
            self.optimizer.zero_grad()
            loss = self.criterion(self.net(inputs), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(self.net.parameters(), self.max_norm)
            self.optimizer.step()
            self.losses.append(loss.item())

    inputs = torch.randn(6, 4)
    labels = torch.randint(0, 3, (6,))
    trainer = Trainer()
    trainer.training_step(inputs, labels)


def checkpointed(torch: Any) -> None:
    """Two blocks whose activations are computed again during the backward pass."""
    torch.manual_seed(0)
    nn = torch.nn
    F = torch.nn.functional
    checkpoint = torch.utils.checkpoint.checkpoint

    class CheckpointedNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.block1 = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8))
            self.block2 = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
            self.head = nn.Linear(8, 1)

        def forward(self, x):
            x = checkpoint(self.block1, x, use_reentrant=False)
            x = checkpoint(self.block2, x, use_reentrant=False)
            return self.head(x)

    inputs = torch.randn(5, 4)
    targets = torch.randn(5, 1)
    model = CheckpointedNet()
    loss = F.mse_loss(model(inputs), targets)
    loss.backward()


PROGRAMS = (
    scalars,
    mlp_trained,
    small_resnet,
    unet,
    lstm_tagger,
    attention,
    small_gpt,
    vae,
    gan_step,
    gradient_penalty,
    hessian_of_two,
    maml_step,
    recursive_tree,
    rnn_by_hand,
    straight_through,
    per_sample_gradients,
    spring,
    branch_on_data,
    held_model,
    checkpointed,
)
