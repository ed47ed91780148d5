"""Programs of the played guests: stand-ins for what can't have its real effect without a hypervisor or a GPU.

They run inside a guest under the system's own Python with its standard library only.
"""
