# shellcheck shell=bash
# Closes the way from jobs to the metadata service, which would hand them this machine's user-data.
# Root on the host keeps it: cloud-init and a watcher of spot reclaims need it.

METADATA_ADDRESS=169.254.169.254

# ensure_rule CHAIN RULE...: first in the chain, once.
ensure_rule() {
  local chain=$1
  shift
  iptables -w -C "$chain" "$@" 2>/dev/null || iptables -w -I "$chain" "$@"
}

reject_metadata() {
  iptables -w -N DOCKER-USER 2>/dev/null || true # there already once Docker has started
  ensure_rule OUTPUT -d "$METADATA_ADDRESS" -m owner ! --uid-owner 0 -j REJECT
  ensure_rule DOCKER-USER -d "$METADATA_ADDRESS" -j REJECT
}

close_metadata_route() {
  begin metadata
  retry 5 1 reject_metadata || fail "iptables: $(last_words "$RETRY_OUTPUT")"
  iptables -w -C DOCKER-USER -d "$METADATA_ADDRESS" -j REJECT 2>/dev/null ||
    fail "iptables took the rule for ${METADATA_ADDRESS} but does not show it"
  report ok "closed for containers and for users other than root"
}
