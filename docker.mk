# Set-up, images and their removal; the Makefile includes this.
.PHONY: setup images clean-docker

setup: ## virtual environment, Docker Engine, images
	@scripts/setup

images: ## build the images that are missing
	@.venv/bin/python -m jobs images

clean-docker: ## remove every container, volume and image of ours, and nothing else
	@.venv/bin/python -m jobs clean
