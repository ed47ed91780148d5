// Package mapping describes the openstack plugin.
package mapping

import (
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	shimv2 "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim/sdk-v2"
	"github.com/terraform-provider-openstack/terraform-provider-openstack/v3/openstack"

	"shadow/engine/providers/internal/plugin"
)

// Version is that of the Python SDK whose schema the plugin follows.
const Version = "5.5.3"

// Info describes the plugin: compute, network, block storage, image and identity types.
func Info() tfbridge.ProviderInfo {
	return plugin.Info("openstack", Version, shimv2.NewProvider(openstack.Provider()), plugin.Table{
		Resources:   resources,
		DataSources: dataSources,
	})
}

var resources = map[string]string{
	"openstack_blockstorage_quotaset_v3":               "blockstorage/quoteSetV3",
	"openstack_blockstorage_volume_attach_v3":          "blockstorage/volumeAttach",
	"openstack_blockstorage_volume_type_access_v3":     "blockstorage/volumeTypeAccessV3",
	"openstack_blockstorage_volume_type_v3":            "blockstorage/volumeTypeV3",
	"openstack_blockstorage_volume_v3":                 "blockstorage/volume",
	"openstack_compute_aggregate_v2":                   "compute/aggregateV2",
	"openstack_compute_flavor_access_v2":               "compute/flavorAccess",
	"openstack_compute_flavor_v2":                      "compute/flavor",
	"openstack_compute_instance_v2":                    "compute/instance",
	"openstack_compute_interface_attach_v2":            "compute/interfaceAttach",
	"openstack_compute_keypair_v2":                     "compute/keypair",
	"openstack_compute_quotaset_v2":                    "compute/quotaSetV2",
	"openstack_compute_servergroup_v2":                 "compute/serverGroup",
	"openstack_compute_volume_attach_v2":               "compute/volumeAttach",
	"openstack_dns_recordset_v2":                       "dns/recordSet",
	"openstack_dns_zone_v2":                            "dns/zone",
	"openstack_identity_application_credential_v3":     "identity/applicationCredential",
	"openstack_identity_ec2_credential_v3":             "identity/ec2CredentialV3",
	"openstack_identity_project_v3":                    "identity/project",
	"openstack_identity_role_assignment_v3":            "identity/roleAssignment",
	"openstack_identity_role_v3":                       "identity/role",
	"openstack_identity_user_v3":                       "identity/user",
	"openstack_images_image_access_accept_v2":          "images/imageAccessAccept",
	"openstack_images_image_access_v2":                 "images/imageAccess",
	"openstack_images_image_v2":                        "images/image",
	"openstack_keymanager_secret_v1":                   "keymanager/secretV1",
	"openstack_lb_listener_v2":                         "loadbalancer/listener",
	"openstack_lb_loadbalancer_v2":                     "loadbalancer/loadBalancer",
	"openstack_lb_member_v2":                           "loadbalancer/member",
	"openstack_lb_monitor_v2":                          "loadbalancer/monitor",
	"openstack_lb_pool_v2":                             "loadbalancer/pool",
	"openstack_networking_address_group_v2":            "networking/addressGroupV2",
	"openstack_networking_floatingip_associate_v2":     "networking/floatingIpAssociate",
	"openstack_networking_floatingip_v2":               "networking/floatingIp",
	"openstack_networking_network_v2":                  "networking/network",
	"openstack_networking_port_secgroup_associate_v2":  "networking/portSecGroupAssociate",
	"openstack_networking_port_v2":                     "networking/port",
	"openstack_networking_portforwarding_v2":           "networking/portForwardingV2",
	"openstack_networking_qos_bandwidth_limit_rule_v2": "networking/qosBandwidthLimitRule",
	"openstack_networking_qos_policy_v2":               "networking/qosPolicy",
	"openstack_networking_quota_v2":                    "networking/quotaV2",
	"openstack_networking_rbac_policy_v2":              "networking/rbacPolicyV2",
	"openstack_networking_router_interface_v2":         "networking/routerInterface",
	"openstack_networking_router_route_v2":             "networking/routerRoute",
	"openstack_networking_router_v2":                   "networking/router",
	"openstack_networking_secgroup_rule_v2":            "networking/secGroupRule",
	"openstack_networking_secgroup_v2":                 "networking/secGroup",
	"openstack_networking_subnet_route_v2":             "networking/subnetRoute",
	"openstack_networking_subnet_v2":                   "networking/subnet",
	"openstack_networking_subnetpool_v2":               "networking/subnetPool",
	"openstack_networking_trunk_v2":                    "networking/trunk",
	"openstack_objectstorage_container_v1":             "objectstorage/container",
	"openstack_objectstorage_object_v1":                "objectstorage/containerObject",
}

var dataSources = map[string]string{
	"openstack_blockstorage_availability_zones_v3": "blockstorage/getAvailabilityZonesV3",
	"openstack_blockstorage_quotaset_v3":           "blockstorage/getQuotasetV3",
	"openstack_blockstorage_snapshot_v3":           "blockstorage/getSnapshotV3",
	"openstack_blockstorage_volume_v3":             "blockstorage/getVolumeV3",
	"openstack_compute_aggregate_v2":               "compute/getAggregateV2",
	"openstack_compute_availability_zones_v2":      "compute/getAvailabilityZones",
	"openstack_compute_flavor_v2":                  "compute/getFlavor",
	"openstack_compute_hypervisor_v2":              "compute/getHypervisorV2",
	"openstack_compute_instance_v2":                "compute/getInstanceV2",
	"openstack_compute_keypair_v2":                 "compute/getKeypair",
	"openstack_compute_limits_v2":                  "compute/getLimitsV2",
	"openstack_compute_quotaset_v2":                "compute/getQuotaSetV2",
	"openstack_compute_servergroup_v2":             "compute/getServergroupV2",
	"openstack_dns_zone_v2":                        "dns/getDnsZone",
	"openstack_identity_auth_scope_v3":             "identity/getAuthScope",
	"openstack_identity_endpoint_v3":               "identity/getEndpoint",
	"openstack_identity_group_v3":                  "identity/getGroup",
	"openstack_identity_project_ids_v3":            "identity/getProjectIdsV3",
	"openstack_identity_project_v3":                "identity/getProject",
	"openstack_identity_role_v3":                   "identity/getRole",
	"openstack_identity_service_v3":                "identity/getService",
	"openstack_identity_user_v3":                   "identity/getUser",
	"openstack_images_image_ids_v2":                "images/getImageIds",
	"openstack_images_image_v2":                    "images/getImage",
	"openstack_keymanager_secret_v1":               "keymanager/getSecret",
	"openstack_networking_addressscope_v2":         "networking/getAddressScope",
	"openstack_networking_floatingip_v2":           "networking/getFloatingIp",
	"openstack_networking_network_v2":              "networking/getNetwork",
	"openstack_networking_port_ids_v2":             "networking/getPortIds",
	"openstack_networking_port_v2":                 "networking/getPort",
	"openstack_networking_qos_policy_v2":           "networking/getQosPolicy",
	"openstack_networking_quota_v2":                "networking/getQuotaV2",
	"openstack_networking_router_v2":               "networking/getRouter",
	"openstack_networking_secgroup_v2":             "networking/getSecGroup",
	"openstack_networking_subnet_ids_v2":           "networking/getSubnetIdsV2",
	"openstack_networking_subnet_v2":               "networking/getSubnet",
	"openstack_networking_subnetpool_v2":           "networking/getSubnetPool",
	"openstack_networking_trunk_v2":                "networking/getTrunk",
}
