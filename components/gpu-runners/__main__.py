"""Entry point that Pulumi's Python host runs for a package folder."""  # noqa: INP001 - a folder, no package

from shadow_gpu_runners.plugin import main

if __name__ == "__main__":
    main()
