# shellcheck shell=sh
# Sourced, from the top of the checkout: puts the development tools on the PATH, installing them when there
# are none of these requirements, and tells Ansible where the collection is. SEMISYNC_ANSIBLE=14 takes the newer bundle;
# 10, 11 and 13 have what `make cores` needs, and no linters.
case ${SEMISYNC_ANSIBLE:-12} in
    12) SEMISYNC_PYTHON=$(tests/tools/python) && SEMISYNC_REQUIREMENTS=requirements-dev.txt ;;
    10 | 11) SEMISYNC_PYTHON=$(tests/tools/python) && SEMISYNC_REQUIREMENTS=requirements-ansible-$SEMISYNC_ANSIBLE.txt ;;
    13 | 14) SEMISYNC_PYTHON=$(tests/tools/python 3.12) && SEMISYNC_REQUIREMENTS=requirements-ansible-$SEMISYNC_ANSIBLE.txt ;;
    *) echo "there is no requirements file for Ansible $SEMISYNC_ANSIBLE: 10, 11, 12, 13 or 14" >&2; exit 1 ;;
esac || exit 1
VIRTUAL_ENV=$("$SEMISYNC_PYTHON" tests/tools/venv.py "$SEMISYNC_REQUIREMENTS") || exit 1
PATH=$VIRTUAL_ENV/bin:$PATH
unset PYTHONHOME

# Ansible wants ansible_collections/NAMESPACE/NAME; a checkout can have any name, so a link in it leads back.
ANSIBLE_COLLECTIONS_PATH=$PWD/.config/collections
export PATH VIRTUAL_ENV ANSIBLE_COLLECTIONS_PATH
