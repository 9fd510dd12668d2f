# shellcheck shell=sh
# Sourced, from the top of the checkout: puts the development tools on the PATH, installing them when there
# are none of these requirements, and tells Ansible where the collection is.
SEMISYNC_PYTHON=$(tests/tools/python) || exit 1
VIRTUAL_ENV=$("$SEMISYNC_PYTHON" tests/tools/venv.py) || exit 1
PATH=$VIRTUAL_ENV/bin:$PATH
unset PYTHONHOME

# Ansible wants ansible_collections/NAMESPACE/NAME; a checkout can have any name, so a link in it leads back.
ANSIBLE_COLLECTIONS_PATH=$PWD/.config/collections
export PATH VIRTUAL_ENV ANSIBLE_COLLECTIONS_PATH
