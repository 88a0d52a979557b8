"""What cells that `bnn.choose` asks for are worth on the composite, in notebook 07."""
