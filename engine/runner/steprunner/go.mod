module gitlab.com/gitlab-org/step-runner

go 1.26.6
