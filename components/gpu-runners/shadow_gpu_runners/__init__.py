"""GPU CI runners on Shadow's OpenStack cloud as Pulumi components."""
