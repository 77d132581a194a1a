"""An HTML report on the stages of a pipeline."""
