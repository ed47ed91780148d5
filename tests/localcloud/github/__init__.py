"""A GitHub of one machine: REST API, webhooks, Actions and its runners over real HTTP, for loopback use only.

Clients reach it as they reach a GitHub Enterprise Server (`http://127.0.0.1:8930/api/v3/`) or, without that
prefix, as they reach api.github.com. Plain HTTP is enough: the Terraform provider asks for https only where
the host is github.com or ghe.com.
"""
