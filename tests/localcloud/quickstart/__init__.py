"""The main job as a newcomer sees it: the article's pipeline runs on the runner that `pulumi up` made."""
