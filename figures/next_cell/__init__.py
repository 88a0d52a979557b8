"""What cells that `bnn.select_runs` asks for are worth on the composite, in notebook 07."""
