"""Measuring: fresh processes that warm up until steady, samplers beside them, interleaved arms."""
