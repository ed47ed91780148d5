import * as pulumi from "@pulumi/pulumi";
import { InstanceGroup, RunnerImage, RunnerNetwork } from "@pulumi/shadow-gpu-runners";

// The components' own release of the provider: @pulumi/openstack on npm may be another.
class OpenStack extends pulumi.ProviderResource {
    constructor(name: string, cloud: string) {
        super("openstack", name, { cloud }, { version: "5.5.3" });
    }
}

const config = new pulumi.Config();
const cloud = new OpenStack("cloud", config.require("cloud"));
const onCloud = { providers: [cloud] };

const network = new RunnerNetwork("network", {
    cidr: "10.22.0.0/24",
    externalNetwork: "ext-net",
    egress: [{ port: 443, description: "HTTPS" }, { protocol: "udp", port: 53, description: "DNS" }],
}, onCloud);

const image = new RunnerImage("image", { imageName: "ubuntu-22.04-cuda" }, onCloud);

const group = new InstanceGroup("group", {
    count: 1,
    flavor: "edge-c4m16-gpu-2000-1",
    namePrefix: "ts-gpu",
    imageId: image.imageId,
    networkId: network.networkId,
    subnetId: network.subnetId,
    securityGroupIds: [network.securityGroupId],
    bootVolume: { sizeGib: 20 },
}, onCloud);

export const addresses = group.addresses;
export const eurPerHour = group.hourlyPrice;
