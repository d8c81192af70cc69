"""Programs of transforms: what each returns or refuses is PyTorch's."""

from __future__ import annotations

import copy
from collections import namedtuple
from typing import Any

import pytest
from functions import function, product, saved
from oracle import entries

import workbench

P = namedtuple("P", "a b")

DIFFERENTIATING = """
grad(lambda x,y: (x*y).sum(), argnums=1)(x,y) | grad(lambda x,y: (x*y).sum(), argnums=(0,1))(x,y)
grad(lambda x,y: (x*y).sum(), argnums=-1)(x,y) | grad(lambda x,y: (x*y).sum(), argnums=(1,0))(x,y)
grad(lambda x: ((x**2).sum(), x*2), has_aux=True)(x)
grad(lambda x: ((x**2).sum(), {'a':x,'b':[x*2]}), has_aux=True)(x) | grad(lambda x: ((x**2).sum(), 3), has_aux=True)(x)
grad(lambda x: ((x**2).sum(), None), has_aux=True)(x) | grad(lambda x: (x**2).sum(), has_aux=True)(x)
grad(lambda x: [(x**2).sum(), x], has_aux=True)(x) | grad(lambda x: x.sum())(3.0) | grad(lambda x: x.sum())(i)
grad(lambda d: (d['a']*d['b']).sum())({'a':x,'b':y}) | grad(lambda d: (d[0]*d[1][0]).sum())([x,(y,)])
grad(lambda p: (p.a*p.b).sum())(P(x,y)) | grad(lambda x, *, k: (x*k).sum())(x, k=y)
grad(lambda x, k=2: (x*k).sum())(x, 5) | grad(lambda x, k: (x*k).sum())(x, k=5) | grad(lambda x: x.sum(), argnums=1)(x)
grad(lambda x: x.sum(), argnums='a')(x) | grad(lambda x: x.sum(), argnums=())(x)
grad(lambda x,y: x.sum(), argnums=(0,0))(x,y) | grad(lambda x,y: x.sum(), argnums=(0,1.0))(x,y)
grad(lambda x: x.sum())() | grad_and_value(lambda x: (x**2).sum())(x)
grad_and_value(lambda x: ((x**2).sum(), x), has_aux=True)(x) | grad_and_value(lambda x: (x**2))(x)
grad(grad(lambda x: x**3))(s) | grad(grad(grad(lambda x: x**4)))(s) | grad(grad(grad(grad(lambda x: x.exp()))))(s)
torch.no_grad()(lambda: grad(lambda x: (x*x).sum())(x))()
torch.no_grad()(lambda: grad(lambda x: grad(lambda y:(y*x).sum())(x).sum())(x))()
torch.no_grad()(lambda: jacrev(lambda x: x*x)(x))() | torch.no_grad()(lambda: hessian(lambda x: (x**3).sum())(x))()
torch.no_grad()(lambda: jvp(lambda x: x*x,(x,),(x,)))() | torch.no_grad()(lambda: vjp(lambda x: x*x,x)[1](x))()
torch.inference_mode()(lambda: grad(lambda x: (x*x).sum())(x))() | vjp(lambda x: x*2, x)[1](y)
vjp(lambda x: (x*2, x.sum()), x)[1]((y, torch.tensor(1.0))) | vjp(lambda x: {'a':x*2}, x)[1]({'a':y})
vjp(lambda x: {'a':x*2}, x)[1](y) | vjp(lambda x,y: x*y, x,y)[1](y) | vjp(lambda x,y: x*y, x,y)[1](torch.ones(2))
vjp(lambda x: (x*2, x), x, has_aux=True)[2] | vjp(lambda x: x*2, x, has_aux=True) | vjp(lambda x: 3, x)
vjp(lambda x: (), x) | vjp(lambda x: None, x) | vjp(lambda x: i, x) | vjp(lambda x: x, 3)
vjp(lambda x: x.sum(), x)[1](torch.tensor(2.0)) | vjp(lambda x: x*2, x)[1](3.0) | vjp(lambda: x)
(lambda f: (f(x), f(y)))(vjp(lambda x: x.sin(), x)[1]) | grad(lambda v: vjp(lambda x: x.sin(), x)[1](v)[0].sum())(y)
grad(lambda z: vjp(lambda x: x.sin(), z)[1](y)[0].sum())(x) | vmap(vjp(lambda x: x.sin(), x)[1])(A)
jacrev(lambda v: vjp(lambda x: x.sin()*x, x)[1](v)[0])(y) | jvp(lambda x: x.sin(), (x,), (y,))
jvp(lambda x,y: x*y, (x,y), (y,x)) | jvp(lambda x,y: x*y, (x,y), (y,)) | jvp(lambda x: x.sin(), x, y)
jvp(lambda x: x.sin(), [x], [y]) | jvp(lambda x: x.sin(), (x,), (torch.ones(2),)) | jvp(lambda x: x.sin(), (x,), (i,))
jvp(lambda x: x.sin(), (i,), (i,)) | jvp(lambda x: x.sin(), (x,), (3.0,)) | jvp(lambda x: x.sin(), (), ())
jvp(lambda x: (x.sin(), x), (x,), (y,), has_aux=True) | jvp(lambda x: x.sin(), (x,), (y,), has_aux=True)
jvp(lambda x: torch.ones(3), (x,), (y,)) | jvp(lambda x: torch.ones(3), (x,), (y,), strict=True)
jvp(lambda x: 3, (x,), (y,)) | jvp(lambda x: x.long(), (x,), (y,))
jvp(lambda d: {'s':d['a']*2}, ({'a':x},), ({'a':y},)) | jvp(lambda d: d['a']*2, ({'a':x},), ({'b':y},))
jvp(lambda x: x.double(), (x,), (y,)) | jvp(lambda x: x, (x,), (y.double(),)) | jvp(lambda x: x*x, (x,), (y.double(),))
jvp(lambda x: jvp(lambda y: y**3, (x,), (torch.ones(3),))[1], (x,), (y,))
jvp(grad(lambda x: (x**3).sum()), (x,), (y,)) | jvp(lambda x: vmap(lambda a: a*x.sum())(x), (x,), (y,))
vmap(lambda x: jvp(torch.sin, (x,), (x,)))(A) | vmap(lambda x,t: jvp(torch.sin, (x,), (t,)), in_dims=(None,0))(x,A)
vmap(lambda x,t: jvp(torch.sin, (x,), (t,)), in_dims=(0,None))(A,x) | jacrev(lambda x: x.sin())(x)
jacfwd(lambda x: x.sin())(x) | jacrev(lambda x: (x.sin(), x.sum()))(x) | jacfwd(lambda x: (x.sin(), x.sum()))(x)
jacrev(lambda x: {'a':x.sin(),'b':[x.sum()]})(x) | jacfwd(lambda x: {'a':x.sin(),'b':[x.sum()]})(x)
jacrev(lambda x,y: x*y, argnums=(0,1))(x,y) | jacfwd(lambda x,y: x*y, argnums=(0,1))(x,y)
jacrev(lambda x,y: x*y, argnums=1)(x,y) | jacfwd(lambda x,y: x*y, argnums=1)(x,y)
jacrev(lambda d: d['a']*d['b'])({'a':x,'b':y}) | jacfwd(lambda d: d['a']*d['b'])({'a':x,'b':y})
jacrev(lambda x: (x.sin(),x), has_aux=True)(x) | jacfwd(lambda x: (x.sin(),x), has_aux=True)(x)
jacrev(lambda x: (x.sin(),{'a':x}), has_aux=True)(x) | jacfwd(lambda x: (x.sin(),{'a':x,'b':i}), has_aux=True)(x)
jacrev(lambda x: x.sin(), chunk_size=1)(x) | jacrev(lambda x: x.sin(), chunk_size=2)(x)
jacrev(lambda x: (x.sin(),x.sum()), chunk_size=2)(x) | jacrev(lambda x: x.sin(), chunk_size=0)(x)
jacrev(lambda x: x.sin(), chunk_size=100)(x) | jacrev(lambda x: i)(x) | jacfwd(lambda x: i)(x) | jacrev(lambda x: 3)(x)
jacfwd(lambda x: 3)(x) | jacrev(lambda x: x)(i) | jacfwd(lambda x: x)(i) | jacrev(lambda x: torch.ones(2))(x)
jacfwd(lambda x: torch.ones(2))(x) | jacrev(lambda x: x@A.t())(x) | jacfwd(lambda x: A@x)(x) | jacrev(lambda X: X@x)(A)
jacfwd(lambda X: X.t())(A) | jacrev(lambda x: x)(s) | jacfwd(lambda x: x**2)(s) | jacrev(lambda x: x[:0])(x)
jacfwd(lambda x: x[:0])(x) | jacrev(lambda x: x*2)(x[:0]) | jacfwd(lambda x: x*2)(x[:0])
jacrev(jacrev(lambda x: x**3))(x) | jacfwd(jacfwd(lambda x: x**3))(x) | jacrev(jacfwd(lambda x: x**3))(x)
jacfwd(jacrev(lambda x: x**3))(x) | hessian(lambda x: (x**3).sum())(x) | hessian(lambda x: x**3)(x)
hessian(lambda x,y: (x*y*y).sum(), argnums=(0,1))(x,y) | hessian(lambda x,y: (x*y*y).sum(), argnums=1)(x,y)
hessian(lambda d: (d['a']*d['b']**2).sum())({'a':x,'b':y}) | hessian(lambda x: (x.detach()*x).sum())(x)
hessian(hessian(lambda x: x**5))(s) | hessian(lambda x: torch.where(x>1,x**2,x**3).sum())(x)
hessian(lambda x: x[[0,1]].prod())(x) | hessian(lambda x: torch.nn.functional.softmax(x,0)[1])(x)
hessian(lambda x: torch.logsumexp(x,0))(x) | hessian(lambda x: x.cumsum(0).prod())(x)
hessian(lambda x: torch.stack([x[0]*x[1],x[2]]).sum()**2)(x) | vmap(hessian(lambda x: (x**3).sum()))(A)
vmap(jacrev(lambda x: x.sin()))(A) | vmap(jacfwd(lambda x: x.sin()), in_dims=1)(A)
vmap(jacfwd(lambda x: x.sin()), in_dims=1, out_dims=2)(A)
vmap(grad(lambda w,x: ((w*x).sum()-1)**2), in_dims=(None,0))(x,A)
vmap(grad(lambda w,x: ((w*x).sum()-1)**2, argnums=(0,1)), in_dims=(None,0))(x,A)
vmap(grad_and_value(lambda w,x: ((w*x).sum()-1)**2), in_dims=(None,0))(x,A)
vmap(lambda x: grad(lambda y: (x*y).sum())(y))(A) | grad(lambda w: vmap(lambda a: (w*a).sum())(A).sum())(x)
grad(lambda w: vmap(lambda a: (w*a).sum())(A).prod())(x)
grad(lambda w: vmap(grad(lambda a: (w*a*a).sum()))(A).sum())(x)
"""

GRADIENTS = """
(x**3).sum() | x | 3 | None | (x.sum(),) | i.sum() | torch.tensor(2.0) | grad(lambda y: (x*y).sin().sum())(x).sum()
(x.detach()*x).sum() | (torch.no_grad()(lambda: x*2)()*x).sum() | jvp(lambda z: (z**3).sum(), (x,), (y,))[1]
setit(x.clone(),0,x[1]*x[2]).prod() | (x.view(3,1).mul(2).view(3)).sum() | setit(torch.zeros(3),i,x).mul(x).sum()
x.clone().requires_grad_().sum() | x.detach().requires_grad_().sum() | (x*2).detach_().sum()
torch.autograd.grad((x*x).sum(),x)[0].sum() | torch.autograd.grad((x*x).sum(),x,create_graph=True)[0].sum()
(x.sum().backward(), x.sum())[1] | (x.register_hook(lambda g: g*2), (x*x).sum())[1]
(lambda z: (z.register_hook(lambda g: g*2), z.sum())[1])(x*x) | torch.tensor([x[0].item(), 2.]).sum()*x.sum()
torch.tensor(x).sum() | copy.deepcopy(x).sum() | (x.grad_fn, x.is_leaf, x.requires_grad, x._version)
torch.tensor([x[0],x[1]]).sum()*x.sum() | copy.deepcopy(x*2).sum() | copy.copy(x*2).sum() | copy.copy(x).sum()
"""

BATCHES = """
vmap(lambda x,j: x[j], (0,0))(A,torch.tensor([0,2])) | vmap(lambda x,j: x[j], (0,0))(A,torch.tensor([[0,2],[1,1]]))
vmap(lambda x,m: x.masked_fill(m,0.), (0,0))(A,A>1)
vmap(lambda x,j: setit(x.clone(),j,7.),(0,0))(A,torch.tensor([0,2]))
vmap(lambda x,j: setit(x.clone(),j,x.sum()),(0,0))(A,torch.tensor([0,2])) | vmap(lambda x: setit(x,0,5.))(A.clone())
(lambda B: (vmap(lambda x: x.mul_(2))(B), B))(A.clone())
(lambda B: (vmap(lambda x: x.mul_(2),in_dims=1)(B), B))(A.clone())
(lambda B: (vmap(lambda x: setit(x,0,9.),in_dims=1)(B), B))(A.clone())
(lambda B: (vmap(lambda x: x.t_() ,in_dims=0)(B.expand(2,2,3).clone())))(A.clone())
(lambda B: (vmap(lambda a,b: a.add_(b),(0,None))(B,x), B))(A.clone())
(lambda B: (vmap(lambda a,b: b.add_(a),(0,None))(B,x), B))(A.clone())
(lambda B: (vmap(lambda a: B.add_(1))(A), B))(A.clone())
(lambda B: (grad(lambda a: a.mul_(2).sum())(B), B))(x.clone())
(lambda B: (grad(lambda a: (a.mul_(2)*a).sum())(B), B))(x.clone())
(lambda B: (jvp(lambda a: a.mul_(2),(B,),(y,)), B, y))(x.clone())
(lambda B: (jvp(lambda a: a[1:].mul_(2),(B,),(y,)), B, y))(x.clone())
(lambda B: (jvp(lambda a: setit(a,0,a[1]),(B,),(y,)), B, y))(x.clone())
(lambda B: (vjp(lambda a: a.mul_(2),B)[1](y), B))(x.clone())
(lambda B: (jacrev(lambda a: a.mul_(2))(B), B))(x.clone()) | (lambda B: (jacfwd(lambda a: a.mul_(2))(B), B))(x.clone())
(lambda B: (hessian(lambda a: (a.mul_(2)**2).sum())(B), B))(x.clone()) | grad(lambda x: x.detach_().sum())(x.clone())
vmap(lambda x: torch.autograd.grad((x*x).sum(),x)[0])(A.clone().requires_grad_())
vmap(lambda x: torch.ones(2), out_dims=None)(A) | vmap(lambda x: (x, torch.ones(2)), out_dims=(0,None))(A)
vmap(lambda x: x.shape[0], out_dims=None)(A) | vmap(lambda x: x.sum(-1,keepdim=True), out_dims=-1)(A)
vmap(lambda x: x.split([1,2]), out_dims=(0,1))(A) | vmap(lambda x: x.is_contiguous() , out_dims=None)(A)
vmap(lambda x: x.item())(x) | vmap(lambda x: float(x))(x) | vmap(lambda x: x if x>1 else -x)(x)
vmap(lambda x: [1,2,3][x])(i) | vmap(lambda x: len(x), out_dims=None)(A) | vmap(lambda x,y: x @ y, (0,None))(A,A.t())
vmap(lambda x,y: x @ y, (None,1))(A,A.t()) | vmap(lambda x,y: torch.outer(x,y))(A,A)
vmap(lambda x,y: torch.einsum('i,j->ij',x,y))(A,A) | vmap(torch.dot)(A,A) | vmap(vmap(torch.mul,(0,None)),(None,0))(x,y)
vmap(vmap(vmap(lambda a,b,c:a*b+c,(0,None,None)),(None,0,None)),(None,None,0))(x,y,x)
vmap(torch.nn.functional.softmax, in_dims=(0,None))(A,0)
vmap(lambda x,t: torch.nn.functional.cross_entropy(x,t))(A,torch.tensor([1,2]))
vmap(lambda x,t: torch.nn.functional.nll_loss(x.log_softmax(0),t))(A,torch.tensor([1,2]))
vmap(lambda x,t: torch.nn.functional.mse_loss(x,t))(A,A+1) | vmap(lambda x: x, chunk_size=1)(A)
vmap(lambda x: x.sum(), chunk_size=2)(A.t()) | vmap(lambda x: (x,x.sum()), chunk_size=2, out_dims=(1,0))(A.t())
vmap(lambda x: x, in_dims=1, chunk_size=2, out_dims=1)(A) | vmap(lambda x,y: x*y, in_dims=(0,None), chunk_size=1)(A,x)
vmap(lambda d: d['a']*2, chunk_size=1)({'a':A}) | vmap(lambda x: None, chunk_size=1)(A)
vmap(lambda x: torch.rand(3)*0+x, randomness='different')(A) | vmap(lambda x: torch.rand(3)*0+x, randomness='same')(A)
vmap(lambda x: torch.nn.functional.dropout(x,0.0), randomness='different')(A) | jacfwd(lambda x: torch.rand(3)*0*x)(x)
jacfwd(lambda x: torch.rand(3)*0*x, randomness='same')(x) | jacrev(lambda x: torch.rand(3)*0*x)(x)
hessian(lambda x: (torch.rand(3)*0*x).sum())(x) | vmap(lambda x,*r: x)(A,A,A)
vmap(lambda x,y: x+y, in_dims=(0,0))(A,torch.ones(3,3)) | vmap(lambda x: x.numel(), out_dims=None)(A)
vmap(lambda x: x.requires_grad, out_dims=None)(A) | vmap(lambda x: x.storage_offset(), out_dims=None)(A)
vmap(lambda x: x.stride(), out_dims=None)(A) | vmap(lambda x: x.stride(), in_dims=1, out_dims=None)(A)
vmap(lambda x: x.is_contiguous(), in_dims=1, out_dims=None)(A) | vmap(lambda x: x._version, out_dims=None)(A)
vmap(lambda x: x._is_view(), out_dims=None)(A) | vmap(lambda x: x.is_leaf, out_dims=None)(A)
vmap(lambda x: x.grad_fn, out_dims=None)(A) | vmap(lambda x: x is None, out_dims=None)(A)
vmap(lambda x: isinstance(x, torch.Tensor), out_dims=None)(A) | vmap(lambda x: str(x.dtype), out_dims=None)(A)
jvp(lambda x: copy.deepcopy(x).sum(),(x,),(x,)) | jvp(lambda x: copy.deepcopy(x*2).sum(),(x,),(x,))
vmap(lambda y: y*copy.deepcopy(x))(A) | vmap(lambda x: x.__dict__ == {}, out_dims=None)(A)
"""

OF_ROWS = """
x[0] | x[i] | x[x>1] | torch.where(x>1,x,0.) | x.clone().masked_fill_(x>1,9.) | setit(x.clone(),0,5.)
setit(x.clone(),i,x*2) | setit(x.clone(),slice(1,None),x[:2]) | setit(x.clone(),torch.tensor([True,False,True]),7.)
setit(x.clone(),x>1,7.) | torch.autograd.grad((x*x).sum(),x)[0] | (x.register_hook(lambda g: g*2), (x*x).sum())[1]
torch.tensor([1.,2.])*x[:2] | torch.stack([x,x*2]) | torch.cat([x,torch.ones(2)]) | torch.stack([x,torch.ones(3)],1)
torch.stack([torch.ones(3),torch.ones(3)]) | x.shape[0] | x.size() | x.unbind() | x.split(2) | x.sort() | x.max(0)
x.topk(2) | x.nonzero() | torch.equal(x,x) | torch.allclose(x,x) | x.tolist() | sum(x) | sum([a*2 for a in x])
[a*2 for a in x] | x @ x | torch.einsum('i,ij->j',x,A.t()) | vmap(lambda y: x.sum()+y, out_dims=1)(A)
torch.nn.functional.softmax(x,-1) | torch.nn.functional.cross_entropy(x[None],torch.tensor([1]))
torch.nn.functional.layer_norm(x,(3,)) | torch.nn.functional.relu(x-1) | torch.nn.functional.linear(x,A)
torch.rand(3).shape[0]*x | x+torch.ones(2) | x.sum(1) | x[5] | x[0,0] | x.transpose(0,1) | x.permute(1,0)
x.expand(2,3) | x.unsqueeze(3) | x.flip(0).roll(1).cumsum(0) | x.reshape(-1,1).squeeze() | x.to(torch.float64)
x.long() | x.half().float() | x.std() | x.var(0,unbiased=False) | x.norm() | x.prod() | x.argmax() | (x>1).any()
(x>1).all() | x.diag() if 0 else torch.diagonal(torch.outer(x,x)) | torch.tril(torch.outer(x,x)) | x.gather(0,i)
torch.zeros(3).scatter(0,i,x) | torch.zeros(3).scatter_add(0,i,x) | torch.zeros(3).index_add(0,i,x)
x.index_select(0,i) | x.repeat(2) | x.grad | x.data | x.numpy() | x == x | copy.deepcopy(x) | copy.copy(x)
torch.tensor([x[0],x[1]]) | torch.as_tensor(x) | torch.as_tensor([x[0]]) | copy.deepcopy(x*2)
"""

FUNCTIONS = """
grad(lambda x: mul(x,y).sum())(x) | grad(lambda a,b: mul(a,b).sum(), argnums=(0,1))(x,y)
grad(lambda x: mul(x,x).sum())(x) | jvp(lambda x: mul(x,y),(x,),(y,)) | jvp(mul,(x,y),(y,x))
jacrev(lambda x: mul(x,x))(x) | jacfwd(lambda x: mul(x,x))(x) | hessian(lambda x: mul(x,mul(x,x)).sum())(x)
vmap(lambda a: mul(a,y))(A) | vmap(lambda a: mul(y,a))(A) | vmap(mul)(A,A+1) | vmap(mul,(0,None))(A,y)
vmap(mul,(1,1))(A,A+1) | vmap(mul,(1,0))(A,A.t()) | vmap(grad(lambda a: mul(a,y).sum()))(A)
vmap(grad(lambda a,b: mul(a,b).sum(),argnums=1),(0,None))(A,y) | grad(lambda w: vmap(lambda a: mul(a,w))(A).sum())(x)
grad(lambda B: vmap(lambda a: mul(a,y))(B).sum())(A) | vmap(vmap(mul,(0,None)),(None,0))(x,y)
vmap(jacrev(lambda a: mul(a,a)))(A) | vmap(jacfwd(lambda a: mul(a,a)))(A) | jacrev(vmap(lambda a: mul(a,y)))(A)
jacfwd(vmap(lambda a: mul(a,y)))(A) | vmap(lambda a: jvp(lambda z: mul(z,y),(a,),(a,)))(A)
jvp(vmap(lambda a: mul(a,y)),(A,),(A+1,)) | grad(lambda x: grad(lambda z: mul(z,mul(z,x)).sum())(x).sum())(x)
grad(lambda x: cube(x).sum())(x) | hessian(lambda x: cube(x).sum())(x) | jacrev(jacrev(lambda x: Cube.apply(x)))(x)
vmap(cube)(A) | vmap(Cube.apply)(A) | vmap(Cube.apply, in_dims=1, out_dims=(1,0))(A)
vmap(grad(lambda a: cube(a).sum()))(A) | vmap(hessian(lambda a: cube(a).sum()))(A)
grad(lambda B: vmap(cube)(B).sum())(A) | jvp(cube,(x,),(y,)) | jacfwd(cube)(x) | vmap(lambda a: Cube.apply(y)[0]*a)(A)
vmap(Sort.apply)(A.flip(1)) | vmap(sort,in_dims=1)(A) | vmap(grad(lambda a: (sort(a)*y).sum()))(A.flip(1))
grad(lambda B: vmap(lambda a: (sort(a)*y).sum())(B).sum())(A.flip(1)) | jacrev(sort)(y)
hessian(lambda x: (sort(x)**2).sum())(y) | jvp(sort,(x,),(y,)) | vmap(lambda a: opt(a,3))(A)
vmap(lambda a: opt(a,3.0,False))(A) | vmap(lambda a: opt(x=a,n=3))(A) | vmap(lambda a: opt(a,a[0]))(A)
vmap(grad(lambda a: opt(a,2).sum()))(A) | grad(lambda a: opt(a,n=2).sum())(x) | jacrev(lambda a: opt(a,2))(x)
vmap(lambda a: opt(a))(A) | grad(lambda a: opt(a,2,True,4).sum())(x) | grad(lambda a: std(a).sum())(x) | vmap(std)(A)
vmap(lambda a: std(x)+a)(A) | jvp(std,(x,),(x,)) | out(grad(lambda x: (x**3).sum())(R))
out(grad(lambda x: (x**3*R).sum())(x)) | out(vjp(lambda x: x**3,R)[1](y)[0]) | out(vjp(lambda x: x**3,R)[0])
out(jvp(lambda x: x**3,(R,),(y,))[1]) | out(jvp(lambda x: x**3,(x,),(R,))[1]) | out(jacrev(lambda x: x**3)(R))
out(vmap(lambda a: a**3)(RA)) | out(vmap(lambda a: a**3,in_dims=1)(RA))
out(vmap(lambda a: a**3,in_dims=1,out_dims=1)(RA)) | out(vmap(lambda a: a*R)(A)) | out(vmap(lambda a: a*R)(RA))
out(vmap(grad(lambda a: (a*R).sum()**2))(A)) | out(vmap(grad(lambda a: (a*a*R).sum()))(RA))
out(vmap(lambda a: mul(a,R))(RA)) | out(vmap(lambda a: cube(a*R))(A)) | out(grad(lambda a: mul(a,R).sum()**2)(x))
out(grad_and_value(lambda x: (x**3).sum())(R)[1]) | out(vmap(lambda a: R)(A)) | out(vmap(lambda a: R*2)(A))
out(vmap(lambda a: R*2, out_dims=None)(A)) | out(grad(lambda x: (x*2).sum())(R)*R) | functional_call(lin,params,x)
functional_call(lin,params,(A,)) | functional_call(lin,params,args=(A,))
functional_call(lin,{'weight':params['weight']*2},x)
functional_call(lin,({'weight':params['weight']*2},{'bias':params['bias']*0}),x) | functional_call(lin,{'weigh':x},x)
functional_call(lin,{'weight':params['weight']},x,strict=True) | functional_call(lin,{'weight':3},x)
grad(lambda p: functional_call(lin,p,x).sum())(params)
vmap(grad(lambda p,x: functional_call(lin,p,(x,)).sum()),in_dims=(None,0))(params,A)
jacrev(lambda p: functional_call(lin,p,x))(params)
hessian(lambda p: (functional_call(lin,p,x)**2).sum())({k:v.detach() for k,v in params.items()})
vjp(lambda p: functional_call(lin,p,x),params)[1](torch.ones(2)) | vmap(torch.nn.ReLU())(A-1)
vmap(torch.nn.Sequential(lin,torch.nn.Tanh()))(A) | vmap(torch.nn.Dropout(0.5))(A)
vmap(torch.nn.Dropout(0.5).eval())(A) | vmap(lambda x: torch.nn.MSELoss()(x,y))(A)
grad(lambda x: torch.utils.checkpoint.checkpoint(lambda z: z**2,x,use_reentrant=False).sum())(x)
grad(lambda x: torch.utils.checkpoint.checkpoint(lambda z: z**2,x,use_reentrant=True).sum())(x)
torch.autograd.functional.jacobian(lambda z: vmap(lambda a:a**2)(z),x)
torch.autograd.functional.jacobian(lambda z: grad(lambda a:(a**3).sum())(z),x)
torch.autograd.functional.hessian(lambda z: vmap(lambda a:a**3)(z).sum(),x)
grad(lambda z: torch.autograd.functional.jacobian(lambda a: a**3, z).sum())(x)
grad(lambda z: torch.autograd.functional.vjp(lambda a: a**3, z, z)[1].sum())(x)
vmap(lambda z: torch.autograd.functional.jvp(lambda a: a**3, z, z))(A)
log(lambda s: grad(lambda x: (s.append(torch.is_grad_enabled()),x.sum())[1])(x))
torch.no_grad()(lambda: log(lambda s: grad(lambda x: (s.append(torch.is_grad_enabled()),x.sum())[1])(x)))()
torch.no_grad()(lambda: log(lambda s: vmap(lambda x: (s.append(torch.is_grad_enabled()),x.sum())[1])(A)))()
torch.no_grad()(lambda: log(lambda s: jvp(lambda x: (s.append(torch.is_grad_enabled()),x.sum())[1],(x,),(x,))))()
log(lambda s: grad(lambda x: (s.append(x),x.sum())[1])(x))[1][0].sum()
log(lambda s: grad(lambda x: (s.append(x*2),(x*x).sum())[1])(x))[1][0]*3
log(lambda s: vmap(lambda x: (s.append(x*2),(x*x).sum())[1])(A))[1][0]*3
log(lambda s: vmap(lambda x: (s.append(x*2),(x*x).sum())[1])(A))[1][0].shape
log(lambda s: jvp(lambda x: (s.append(x*2),(x*x).sum())[1],(x,),(x,)))[1][0]*3
repr(log(lambda s: grad(lambda x: (s.append(x*2),(x*x).sum())[1])(x))[1][0])
repr(log(lambda s: vmap(lambda x: (s.append(x*2),(x*x).sum())[1])(A))[1][0])
grad(lambda x: log(lambda s: grad(lambda z: (s.append(z*x),(z*z).sum())[1])(x))[1][0].sum())(x)
grad(lambda x: (x.sqrt()*0).sum())(x*0)
"""


TRANSFORMS = ("grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "vmap", "functional_call")


def tensors(torch: Any) -> dict[str, Any]:
    """What the programs are about."""
    names = {name: getattr(torch.func, name) for name in TRANSFORMS}
    names |= {"torch": torch, "copy": copy, "P": P, "setit": setit, "seen": [], "s": torch.tensor(1.5)}
    names |= {"x": torch.tensor([1.0, 2.0, 3.0]), "y": torch.tensor([0.5, -1.0, 2.0]), "i": torch.tensor([1, 2, 0])}
    return names | {"A": torch.arange(6.0).reshape(2, 3) / 2 + 0.5}


def setit(t: Any, key: Any, value: Any) -> Any:
    """The tensor, written to."""
    t[key] = value
    return t


def applied(torch: Any) -> dict[str, Any]:
    """Functions of one's own, and the first outputs of those that have two."""

    def keep_number(ctx, inputs, output):
        ctx.n = inputs[1]
        ctx.set_materialize_grads(False)

    def keep_order(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    def keep_slope(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[1])

    def scaled(ctx, g):
        return (None if g is None else g * ctx.n), None, None

    def ordered(x):
        return x[x.argsort(0)], x.argsort(0)

    def in_front(info, dims, x):
        return Cube.apply(x), (dims[0], dims[0])

    rule = {"generate_vmap_rule": True}
    Opt = function(torch, lambda x, n, flag=True: x * n, scaled, setup_context=keep_number, **rule)
    Std = function(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2, saves=True)
    slope = saved(lambda g, h, x, d: g * d + h * 6 * x)
    Cube = function(torch, lambda x: (x**3, 3 * x**2), slope, setup_context=keep_slope, vmap=in_front)
    back = saved(lambda g, _, order: torch.zeros_like(g).index_add(0, order, g))
    Sort = function(torch, ordered, back, setup_context=keep_order, **rule)
    names = {"mul": product(torch).apply, "opt": Opt.apply, "std": Std.apply, "Cube": Cube, "Sort": Sort}
    return names | {"cube": lambda x: Cube.apply(x)[0], "sort": lambda x: Sort.apply(x)[0]}


def functions(torch: Any, x: Any, A: Any) -> dict[str, Any]:
    """Functions of one's own, a module, and what is differentiated outside all transforms."""

    def out(v: Any) -> Any:
        v.sum().backward()
        return v, R.grad, RA.grad

    def log(f: Any) -> Any:
        seen: list[Any] = []
        return f(seen), seen

    lin, R, RA = torch.nn.Linear(3, 2), x.clone().requires_grad_(), A.clone().requires_grad_()
    with torch.no_grad():
        lin.weight.copy_(torch.arange(6.0).reshape(2, 3) / 3)
        lin.bias.copy_(torch.tensor([0.5, -0.5]))
    names = applied(torch) | {"out": out, "log": log}
    return names | {"lin": lin, "params": dict(lin.named_parameters()), "R": R, "RA": RA}


def shown(value: Any) -> Any:
    """A program's answer, where functions are not compared."""
    if type(value) is tuple:
        return tuple([shown(each) for each in value])
    return "a function" if callable(value) and not hasattr(value, "grad_fn") else value


WHOLE = [f"grad(lambda x: {text})(x)" for text in entries(GRADIENTS)] + entries(DIFFERENTIATING + BATCHES)
WHOLE += [f"vmap(lambda x: {text})(A)" for text in entries(OF_ROWS)]


@pytest.mark.parametrize("text", WHOLE)
def test_transforms(torch, text):
    torch.manual_seed(0)
    return shown(eval(text, tensors(torch)))


@pytest.mark.parametrize("text", entries(FUNCTIONS))
def test_functions_modules_and_what_is_outside(torch, text):
    torch.manual_seed(0)
    names = tensors(torch)
    return shown(eval(text, names | functions(torch, names["x"], names["A"])))


def test_a_tensor_that_left_vmap_is_refused(torch):
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x * 2)
        return x

    torch.func.vmap(f)(torch.ones(2, 3))
    (t,) = kept
    seen = [tuple(t.shape), repr(t)]
    for text in ("t * 3", "3 * t", "t.sum()", "t[0]", "t.detach()", "t.mul_(2)", "torch.ones(3).mul_(t)", "t > 1"):
        try:
            eval(text, {"t": t, "torch": torch})
        except RuntimeError as error:
            seen.append(str(error)[:90])
    return seen


def test_a_list_that_a_generated_rule_returns() -> None:
    """PyTorch 2.13 fails at it."""

    class Both(workbench.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return [x * 2, x.sum()]

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    doubled, total = workbench.func.vmap(Both.apply)(workbench.ones(2, 3))
    assert doubled.tolist() == [[2.0, 2.0, 2.0]] * 2 and total.tolist() == [3.0, 3.0]
