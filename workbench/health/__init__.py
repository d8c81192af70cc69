"""What the records of a program say of the health of its gradients, whatever engine it ran on."""
