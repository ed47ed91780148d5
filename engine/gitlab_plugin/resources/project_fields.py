"""Properties of projects and groups that map one to one on GitLab's API."""

from typing import Final

from gitlab_plugin.fields import Field

_VISIBILITIES: Final = ("private", "internal", "public")
_LEVELS: Final = ("disabled", "private", "enabled")
_PUBLIC_LEVELS: Final = (*_LEVELS, "public")


def _booleans(names: str) -> tuple[Field, ...]:
    return tuple(Field(name, "boolean") for name in names.split())


def _integers(names: str) -> tuple[Field, ...]:
    return tuple(Field(name, "integer") for name in names.split())


def _strings(names: str) -> tuple[Field, ...]:
    return tuple(Field(name) for name in names.split())


def _levels(names: str) -> tuple[Field, ...]:
    return tuple(Field(f"{name}AccessLevel", choices=_LEVELS) for name in names.split())


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


FIELDS: Final = (
    Field("name"),
    Field("path"),
    Field("namespaceId", "integer"),
    Field("description"),
    Field("visibilityLevel", api="visibility", choices=_VISIBILITIES),
    Field("defaultBranch"),
    Field("topics", "strings"),
    Field("initializeWithReadme", "boolean", unread=True, create_only=True),
    Field("mergeMethod", choices=("merge", "rebase_merge", "ff")),
    Field("squashOption", choices=("never", "always", "default_on", "default_off")),
    Field("buildGitStrategy", choices=("clone", "fetch")),
    Field("autoDevopsDeployStrategy", choices=("continuous", "manual", "timed_incremental")),
    Field("autoCancelPendingPipelines", choices=("enabled", "disabled")),
    Field(
        "ciPipelineVariablesMinimumOverrideRole",
        choices=("developer", "maintainer", "owner", "no_one_allowed"),
    ),
    Field("packageRegistryAccessLevel", choices=_PUBLIC_LEVELS),
    Field("pagesAccessLevel", choices=_PUBLIC_LEVELS),
    *_levels(
        "analytics builds containerRegistry environments featureFlags forking infrastructure issues "
        "mergeRequests modelExperiments modelRegistry monitor releases repository requirements "
        "securityAndCompliance snippets wiki"
    ),
    *_strings(
        "ciConfigPath externalAuthorizationClassificationLabel issueBranchTemplate issuesTemplate "
        "mergeCommitTemplate mergeRequestsTemplate repositoryStorage resourceGroupDefaultProcessMode "
        "squashCommitTemplate suggestionCommitMessage"
    ),
    *_integers("buildTimeout ciDefaultGitDepth ciDeletePipelinesInSeconds maxArtifactsSize"),
    *_booleans(
        "allowMergeOnSkippedPipeline allowPipelineTriggerApproveDeployment autoDevopsEnabled "
        "autocloseReferencedIssues ciDisplayPipelineVariables ciForwardDeploymentEnabled "
        "ciForwardDeploymentRollbackAllowed ciPushRepositoryForJobTokenAllowed ciSeparatedCaches "
        "emailsEnabled groupRunnersEnabled keepLatestArtifact lfsEnabled mergePipelinesEnabled "
        "mergeTrainsEnabled "
        "mergeTrainsSkipTrainAllowed mrDefaultTargetSelf onlyAllowMergeIfAllDiscussionsAreResolved "
        "onlyAllowMergeIfPipelineSucceeds packagesEnabled printingMergeRequestLinkEnabled publicJobs "
        "removeSourceBranchAfterMerge requestAccessEnabled resolveOutdatedDiffDiscussions "
        "sharedRunnersEnabled"
    ),
    Field("archiveOnDestroy", "boolean", local=True, default=False),
    Field("permanentlyDeleteOnDestroy", "boolean", local=True, default=False),
    Field("skipWaitForDefaultBranchProtection", "boolean", local=True),
    Field("avatarUrl", output_only=True),
    Field("emptyRepo", "boolean", output_only=True),
    Field("httpUrlToRepo", output_only=True),
    Field("pathWithNamespace", output_only=True),
    Field("runnersToken", secret=True, output_only=True),
    Field("sshUrlToRepo", output_only=True),
    Field("webUrl", output_only=True),
)
"""Properties of `Project`."""

NOT_SERVED: Final = _names(
    "archived autoDuoCodeReviewEnabled automaticRebaseEnabled avatar avatarHash branches "
    "ciIdTokenSubClaimComponents ciRestrictPipelineCancellationRole containerExpirationPolicy "
    "forkedFromProjectId groupWithProjectTemplatesId importUrl importUrlPassword importUrlUsername "
    "mergeRequestTitleRegex mergeRequestTitleRegexDescription mrDefaultTitleTemplate "
    "preReceiveSecretDetectionEnabled preventMergeWithoutJiraIssue protectMergeRequestPipelines "
    "publicBuilds pushRules reviewerAssignmentStrategy templateName templateProjectId "
    "useCustomTemplate"
)
"""Inputs of the official `Project` that this stand-in refuses."""

GROUP_FIELDS: Final = (
    Field("path", required=True),
    Field("name"),
    Field("parentId", "integer", replace=True),
    Field("description"),
    Field("visibilityLevel", api="visibility", choices=_VISIBILITIES),
    Field("defaultBranch"),
    Field("projectCreationLevel", choices=("noone", "owner", "maintainer", "developer", "administrator")),
    Field("subgroupCreationLevel", choices=("owner", "maintainer")),
    Field(
        "sharedRunnersSetting",
        choices=(
            "enabled",
            "disabled_and_overridable",
            "disabled_and_unoverridable",
            "disabled_with_override",
        ),
    ),
    Field("wikiAccessLevel", choices=_LEVELS),
    *_integers("defaultBranchProtection maxArtifactsSize twoFactorGracePeriod"),
    *_booleans(
        "autoDevopsEnabled emailsEnabled lfsEnabled mentionsDisabled preventForkingOutsideGroup "
        "requestAccessEnabled requireTwoFactorAuthentication shareWithGroupLock"
    ),
    Field("archiveOnDestroy", "boolean", local=True, default=False),
    Field("permanentlyRemoveOnDelete", "boolean", local=True, default=False),
    Field("avatarUrl", output_only=True),
    Field("fullName", output_only=True),
    Field("fullPath", output_only=True),
    Field("runnersToken", secret=True, output_only=True),
    Field("webUrl", output_only=True),
)
"""Properties of `Group`."""

GROUP_NOT_SERVED: Final = _names(
    "allowMergeOnSkippedPipeline allowedEmailDomainsLists avatar avatarHash crmEnabled "
    "defaultBranchProtectionDefaults extraSharedRunnersMinutesLimit ipRestrictionRanges "
    "membershipLock onlyAllowMergeIfAllDiscussionsAreResolved onlyAllowMergeIfPipelineSucceeds "
    "preventSharingGroupsOutsideHierarchy pushRules sharedRunnersMinutesLimit"
)
"""Inputs of the official `Group` that this stand-in refuses."""
