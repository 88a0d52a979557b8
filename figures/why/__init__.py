"""Why anchoring helps: both ensembles tuned alike, and what the gain rests on."""
