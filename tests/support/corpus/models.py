"""Programs as people write them in lectures, homework and at work, each run forward and backward: all are healthy."""

from __future__ import annotations

import math

from .practice import whole


@whole
def scalars(torch):
    """A few scalars, one of them used more than once."""
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0, requires_grad=True)
    c = a * b
    d = c + a**2
    e = d / (b - 1)
    loss = e.exp() + c
    loss.backward()


@whole
def mlp_trained(torch):
    """A multilayer perceptron trained for ten steps with SGD."""
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


@whole
def small_resnet(torch):
    """A small residual network for images, with projection shortcuts."""
    nn, F = torch.nn, torch.nn.functional

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


@whole
def unet(torch):
    """A U-Net with two levels down, two up, and concatenated skips."""
    nn, F = torch.nn, torch.nn.functional

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


@whole
def lstm_tagger(torch):
    """A part-of-speech tagger: an embedding, an LSTM and a linear layer."""
    nn, F = torch.nn, torch.nn.functional

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


@whole
def hessian_of_two(torch):
    """The second derivatives of a function of two scalars."""
    x = torch.tensor(1.5, requires_grad=True)
    y = torch.tensor(-0.5, requires_grad=True)
    z = x**3 * y + torch.sin(x * y)
    dz_dx, dz_dy = torch.autograd.grad(z, (x, y), create_graph=True)
    rows = []
    for first_derivative in (dz_dx, dz_dy):
        second_derivatives = torch.autograd.grad(first_derivative, (x, y), retain_graph=True)
        rows.append(torch.stack(second_derivatives))
    torch.stack(rows)


@whole
def recursive_tree(torch):
    """A network that follows the shape of a parse tree by recursion."""
    nn, F = torch.nn, torch.nn.functional

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


@whole
def rnn_by_hand(torch):
    """A recurrent network written out by hand, for twenty rounds."""
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


@whole
def straight_through(torch):
    """Custom functions: a straight-through sign, and one with three outputs."""

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


@whole
def spring(torch):
    """A mass on a spring over sixty steps; how far it lands depends on the stiffness."""
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


@whole
def branch_on_data(torch):
    """A loop whose branch, and whose length, depends on the values."""
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


@whole
def held_model(torch):
    """A trainer that holds its network and takes a step with Adam and clipping."""
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


@whole
def cnn_digit_classifier(torch):
    """A small convolutional net with batch norm and dropout, two SGD steps."""
    nn, F = torch.nn, torch.nn.functional

    class SmallCNN(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 4, kernel_size=3, padding=1)
            self.bn1 = nn.BatchNorm2d(4)
            self.conv2 = nn.Conv2d(4, 8, kernel_size=3, stride=2, padding=1)
            self.pool = nn.MaxPool2d(2)
            self.drop = nn.Dropout(0.25)
            self.fc = nn.Linear(8 * 2 * 2, 10)

        def forward(self, x):
            x = self.pool(F.relu(self.bn1(self.conv1(x))))
            x = F.relu(self.conv2(x))
            x = torch.flatten(x, 1)
            return self.fc(self.drop(x))

    images = torch.randn(6, 1, 8, 8)
    labels = torch.tensor([3, 1, 4, 1, 5, 9])
    model = SmallCNN()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)

    model.train()
    for _ in range(2):
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()

    model.eval()
    with torch.no_grad():
        predictions = model(images).argmax(dim=1)
        accuracy = (predictions == labels).float().mean().item()
    assert 0.0 <= accuracy <= 1.0


@whole
def lstm_cell_by_hand(torch):
    """An LSTM cell from the four gate equations, unrolled over time on an embedded sequence."""
    nn, F = torch.nn, torch.nn.functional

    class MyLSTMCell(nn.Module):
        def __init__(self, input_size, hidden_size):
            super().__init__()
            self.input_to_gates = nn.Linear(input_size, 4 * hidden_size)
            self.hidden_to_gates = nn.Linear(hidden_size, 4 * hidden_size, bias=False)

        def forward(self, x, state):
            h, c = state
            gates = self.input_to_gates(x) + self.hidden_to_gates(h)
            i, f, g, o = gates.chunk(4, dim=-1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            return h, c

    vocab_size, hidden_size, batch_size, seq_len = 11, 6, 3, 7
    embedding = nn.Embedding(vocab_size, 5)
    cell = MyLSTMCell(5, hidden_size)
    decoder = nn.Linear(hidden_size, vocab_size)

    tokens = torch.randint(0, vocab_size, (batch_size, seq_len + 1))
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    h = torch.zeros(batch_size, hidden_size)
    c = torch.zeros(batch_size, hidden_size)
    outputs = []
    for t in range(seq_len):
        h, c = cell(embedding(inputs[:, t]), (h, c))
        outputs.append(h)
    logits = decoder(torch.stack(outputs, dim=1))
    loss = F.cross_entropy(logits.reshape(-1, vocab_size), targets.reshape(-1))
    loss.backward()

    parameters = list(cell.parameters()) + list(decoder.parameters()) + list(embedding.parameters())
    nn.utils.clip_grad_norm_(parameters, max_norm=0.5)
    with torch.no_grad():
        for p in parameters:
            p -= 0.1 * p.grad


@whole
def tiny_gpt(torch):
    """Causal multi-head self-attention in two pre-norm blocks with the output head tied to the embedding."""
    nn, F = torch.nn, torch.nn.functional

    class CausalSelfAttention(nn.Module):
        def __init__(self, n_embd, n_head, block_size):
            super().__init__()
            self.n_head = n_head
            self.qkv = nn.Linear(n_embd, 3 * n_embd)
            self.proj = nn.Linear(n_embd, n_embd)
            self.register_buffer("mask", torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, -1))

        def forward(self, x):
            B, T, C = x.size()
            parts = self.qkv(x).split(C, dim=2)
            q, k, v = (each.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for each in parts)
            att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
            att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
            att = F.softmax(att, dim=-1)
            y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
            return self.proj(y)

    class Block(nn.Module):
        def __init__(self, n_embd, n_head, block_size):
            super().__init__()
            self.ln1 = nn.LayerNorm(n_embd)
            self.attn = CausalSelfAttention(n_embd, n_head, block_size)
            self.ln2 = nn.LayerNorm(n_embd)
            self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

        def forward(self, x):
            x = x + self.attn(self.ln1(x))
            return x + self.mlp(self.ln2(x))

    class TinyGPT(nn.Module):
        def __init__(self, vocab_size=13, n_embd=8, n_head=2, block_size=6, n_layer=2):
            super().__init__()
            self.wte = nn.Embedding(vocab_size, n_embd)
            self.wpe = nn.Embedding(block_size, n_embd)
            self.blocks = nn.ModuleList([Block(n_embd, n_head, block_size) for _ in range(n_layer)])
            self.ln_f = nn.LayerNorm(n_embd)
            self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
            self.lm_head.weight = self.wte.weight

        def forward(self, idx, targets=None):
            positions = torch.arange(idx.size(1))
            x = self.wte(idx) + self.wpe(positions)
            for block in self.blocks:
                x = block(x)
            logits = self.lm_head(self.ln_f(x))
            loss = None
            if targets is not None:
                loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
            return logits, loss

    model = TinyGPT()
    idx = torch.randint(0, 13, (2, 6))
    targets = torch.roll(idx, shifts=-1, dims=1)
    targets[:, -1] = -1
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    logits, loss = model(idx, targets)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()

    with torch.no_grad():
        context = idx[:, :3]
        for _ in range(2):
            logits, _ = model(context)
            probs = F.softmax(logits[:, -1, :] / 0.8, dim=-1)
            exponential_noise = -torch.log(torch.rand_like(probs))
            next_token = torch.argmax(probs / exponential_noise, dim=-1, keepdim=True)
            context = torch.cat([context, next_token], dim=1)


@whole
def physics_informed_heat_equation(torch):
    """PINN for u_t = k u_xx: first and second derivatives of the network enter the loss."""
    nn = torch.nn

    class PINN(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 10), nn.Tanh(), nn.Linear(10, 10), nn.Tanh(), nn.Linear(10, 1))

        def forward(self, x, t):
            return self.net(torch.cat([x, t], dim=1))

    def pde_residual(model, x, t, diffusivity):
        u = model(x, t)
        u_x, u_t = torch.autograd.grad(u, (x, t), grad_outputs=torch.ones_like(u), create_graph=True)
        (u_xx,) = torch.autograd.grad(u_x, x, grad_outputs=torch.ones_like(u_x), create_graph=True)
        return u_t - diffusivity * u_xx

    model = PINN()
    log_diffusivity = nn.Parameter(torch.tensor(-1.0))
    optimizer = torch.optim.Adam([*model.parameters(), log_diffusivity], lr=1e-3)

    x_inside = torch.rand(12, 1, requires_grad=True)
    t_inside = torch.rand(12, 1, requires_grad=True)
    x_initial = torch.linspace(0, 1, 9).unsqueeze(1)
    t_boundary = torch.rand(5, 1)
    for _ in range(2):
        optimizer.zero_grad()
        residual = pde_residual(model, x_inside, t_inside, log_diffusivity.exp())
        initial_error = model(x_initial, torch.zeros_like(x_initial)) - torch.sin(math.pi * x_initial)
        left = model(torch.zeros_like(t_boundary), t_boundary)
        right = model(torch.ones_like(t_boundary), t_boundary)
        loss = residual.pow(2).mean() + initial_error.pow(2).mean() + (left**2 + right**2).mean()
        loss.backward()
        optimizer.step()


@whole
def hypernetwork_curves(torch):
    """A hypernetwork writes the weights of a small per-task net, applied with bmm and einsum."""
    nn, F = torch.nn, torch.nn.functional

    class HyperNetwork(nn.Module):
        def __init__(self, num_tasks, task_dim=4, hidden=5):
            super().__init__()
            self.hidden = hidden
            self.task_embedding = nn.Parameter(torch.randn(num_tasks, task_dim) * 0.5)
            self.weight_generator = nn.Linear(task_dim, hidden + hidden + hidden + 1)

        def forward(self, x):
            generated = self.weight_generator(self.task_embedding)
            w1, b1, w2, b2 = torch.split(generated, [self.hidden, self.hidden, self.hidden, 1], dim=1)
            hidden = torch.tanh(torch.bmm(x, w1.unsqueeze(1)) + b1.unsqueeze(1))
            return torch.einsum("tnh,th->tn", hidden, w2) + b2

    num_tasks = 3
    x = torch.linspace(-2, 2, 8).reshape(1, 8, 1).expand(num_tasks, -1, -1)
    phases = torch.tensor([0.0, 0.7, 1.4]).view(-1, 1)
    y = torch.sin(x.squeeze(-1) + phases)
    hyper = HyperNetwork(num_tasks)
    optimizer = torch.optim.SGD(hyper.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    for _ in range(3):
        loss = F.mse_loss(hyper(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()


@whole
def matrix_factorisation(torch):
    """Movie ratings from user and item factors with biases, raw tensors and manual descent."""
    num_users, num_items, rank = 5, 7, 3
    user_factors = (0.1 * torch.randn(num_users, rank)).requires_grad_()
    item_factors = (0.1 * torch.randn(num_items, rank)).requires_grad_()
    user_bias = torch.zeros(num_users, requires_grad=True)
    item_bias = torch.zeros(num_items, requires_grad=True)
    users = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 0, 2])
    items = torch.tensor([0, 3, 1, 6, 2, 5, 4, 0, 6, 1, 5, 3])
    ratings = torch.tensor([5.0, 3.0, 4.0, 1.0, 2.0, 5.0, 4.0, 4.0, 2.0, 3.0, 1.0, 5.0])
    global_mean = ratings.mean()
    parameters = [user_factors, item_factors, user_bias, item_bias]

    for _ in range(4):
        interaction = (user_factors[users] * item_factors[items]).sum(-1)
        predicted = global_mean + user_bias[users] + item_bias[items] + interaction
        squared_error = ((predicted - ratings) ** 2).mean()
        penalty = sum(p.square().sum() for p in parameters)
        loss = squared_error + 0.01 * penalty
        loss.backward()
        with torch.no_grad():
            for p in parameters:
                p -= 0.2 * p.grad
                p.grad.zero_()

    with torch.no_grad():
        scores = user_factors @ item_factors.T + user_bias[:, None] + item_bias[None, :] + global_mean
        scores[users, items] = float("-inf")
        scores.topk(2, dim=1)


@whole
def differentiable_cannon(torch):
    """Launch velocity optimized through a drag simulation with a bouncing floor."""
    target = torch.tensor([3.0, 0.5])
    velocity_guess = torch.tensor([1.5, 2.0], requires_grad=True)
    drag = torch.tensor(0.05, requires_grad=True)
    gravity = torch.tensor([0.0, -9.81])
    dt = 0.05
    optimizer = torch.optim.SGD([velocity_guess, drag], lr=0.05)

    for _ in range(2):
        position = torch.tensor([0.0, 1.0])
        velocity = velocity_guess
        trajectory = []
        for _ in range(12):
            speed = torch.norm(velocity)
            velocity = velocity + dt * (gravity - drag * speed * velocity)
            position = position + dt * velocity
            below_floor = position[1] < 0
            bounced = torch.stack([velocity[0], -0.8 * velocity[1]])
            velocity = torch.where(below_floor, bounced, velocity)
            position = torch.stack([position[0], position[1].clamp(min=0.0)])
            trajectory.append(position)
        path = torch.stack(trajectory)
        miss = (path[-1] - target).pow(2).sum()
        effort = 0.01 * velocity_guess.pow(2).sum()
        roughness = (path[1:] - path[:-1]).pow(2).sum()
        loss = miss + effort + 0.001 * roughness
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@whole
def per_sample_gradients_functional(torch):
    """Per-example gradients with func.grad and vmap, clipped as in DP-SGD, plus a Jacobian and a jvp."""
    grad, vmap = torch.func.grad, torch.func.vmap
    jvp, jacrev = torch.func.jvp, torch.func.jacrev

    params = {
        "weight1": torch.randn(6, 4) * 0.5,
        "bias1": torch.zeros(6),
        "weight2": torch.randn(3, 6) * 0.5,
        "bias2": torch.zeros(3),
    }

    def predict(params, x):
        hidden = torch.relu(params["weight1"] @ x + params["bias1"])
        return params["weight2"] @ hidden + params["bias2"]

    def loss_fn(params, x, y):
        return ((predict(params, x) - y) ** 2).sum()

    inputs = torch.randn(5, 4)
    targets = torch.randn(5, 3)
    per_sample = vmap(grad(loss_fn), in_dims=(None, 0, 0))(params, inputs, targets)

    squared_norms = sum(g.reshape(g.shape[0], -1).pow(2).sum(dim=1) for g in per_sample.values())
    scale = (1.0 / (squared_norms.sqrt() + 1e-6)).clamp(max=1.0)
    clipped = {name: torch.einsum("b,b...->...", scale, g) / len(inputs) for name, g in per_sample.items()}
    noisy = {name: g + 0.01 * torch.randn_like(g) for name, g in clipped.items()}
    params = {name: p - 0.1 * noisy[name] for name, p in params.items()}

    jacobian = jacrev(lambda x: predict(params, x))(inputs[0])
    direction = torch.randn(4)
    _, directional = jvp(lambda x: predict(params, x), (inputs[0],), (direction,))
    assert torch.allclose(jacobian @ direction, directional, atol=1e-5)


@whole
def graph_attention_layer(torch):
    """Message passing over an edge list with a segment softmax by scatter, two checkpointed layers."""
    nn, F = torch.nn, torch.nn.functional
    run_checkpointed = torch.utils.checkpoint.checkpoint

    class GraphAttention(nn.Module):
        def __init__(self, in_features, out_features):
            super().__init__()
            self.lin = nn.Linear(in_features, out_features, bias=False)
            self.att_source = nn.Parameter(torch.empty(out_features))
            self.att_target = nn.Parameter(torch.empty(out_features))
            nn.init.normal_(self.att_source, std=0.3)
            nn.init.normal_(self.att_target, std=0.3)

        def forward(self, x, edge_index):
            source, target = edge_index
            h = self.lin(x)
            score = F.leaky_relu((h @ self.att_source)[source] + (h @ self.att_target)[target], 0.2)
            weight = torch.exp(score - score.max().detach())
            total = torch.zeros(x.size(0)).scatter_add(0, target, weight)
            alpha = weight / (total[target] + 1e-9)
            index = target.unsqueeze(1).expand(-1, h.size(1))
            return torch.zeros_like(h).scatter_add(0, index, alpha.unsqueeze(1) * h[source])

    nodes = torch.randn(6, 4)
    edges = torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2, 4, 1], [1, 2, 3, 4, 5, 0, 0, 2, 4, 5]])
    labels = torch.tensor([0, 1, 1, 0, 2, 2])
    train_mask = torch.tensor([True, True, False, True, True, False])
    layer1 = GraphAttention(4, 8)
    layer2 = GraphAttention(8, 3)
    hidden = F.elu(run_checkpointed(layer1, nodes, edges, use_reentrant=False))
    logits = run_checkpointed(layer2, hidden, edges, use_reentrant=False)
    loss = F.nll_loss(F.log_softmax(logits, dim=1)[train_mask], labels[train_mask])
    loss.backward()


@whole
def gaussian_process_likelihood(torch):
    """GP regression: RBF hyperparameters by marginal likelihood through a hand-written Cholesky, then a posterior."""
    n = 6
    x = torch.linspace(0, 4, n, dtype=torch.float64)
    y = torch.sin(x) + 0.1 * torch.randn(n, dtype=torch.float64)
    log_lengthscale = torch.zeros((), dtype=torch.float64, requires_grad=True)
    log_signal = torch.zeros((), dtype=torch.float64, requires_grad=True)
    log_noise = torch.tensor(-2.0, dtype=torch.float64, requires_grad=True)

    def rbf_kernel(a, b):
        squared_distance = (a.unsqueeze(1) - b.unsqueeze(0)) ** 2
        return torch.exp(2 * log_signal) * torch.exp(-0.5 * squared_distance / torch.exp(2 * log_lengthscale))

    def cholesky(matrix):
        columns = []
        for j in range(len(matrix)):
            column = matrix[j:, j]
            if columns:
                previous = torch.stack([previous_column[j:] for previous_column in columns], dim=1)
                column = column - previous @ previous[0]
            column = column / torch.sqrt(column[0])
            columns.append(torch.cat([torch.zeros(j, dtype=matrix.dtype), column]))
        return torch.stack(columns, dim=1)

    def forward_substitution(lower, b):
        solution = []
        for i in range(len(b)):
            remainder = b[i]
            if i > 0:
                remainder = remainder - lower[i, :i] @ torch.stack(solution)
            solution.append(remainder / lower[i, i])
        return torch.stack(solution)

    def factorise():
        covariance = rbf_kernel(x, x) + torch.exp(2 * log_noise) * torch.eye(n, dtype=x.dtype)
        return cholesky(covariance), covariance

    optimizer = torch.optim.Adam([log_lengthscale, log_signal, log_noise], lr=0.05)
    for _ in range(2):
        optimizer.zero_grad()
        lower, _ = factorise()
        whitened = forward_substitution(lower, y)
        data_fit = 0.5 * whitened.dot(whitened)
        complexity = torch.log(torch.diagonal(lower)).sum()
        negative_log_likelihood = data_fit + complexity + 0.5 * n * math.log(2 * math.pi)
        negative_log_likelihood.backward()
        optimizer.step()

    with torch.no_grad():
        x_new = torch.tensor([0.3, 2.2], dtype=torch.float64)
        lower, covariance = factorise()
        assert torch.allclose(lower @ lower.T, covariance)
        half_solved = forward_substitution(lower, rbf_kernel(x, x_new))
        mean = half_solved.T @ forward_substitution(lower, y)
        variance = torch.exp(2 * log_signal) - (half_solved**2).sum(dim=0)
        assert mean.shape == (2,) and bool((variance > 0).all())
