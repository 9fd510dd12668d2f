# For people at a prompt only: scripts and Ansible find no client programs on the PATH here.
case $- in
    *i*) PATH=$PATH:/usr/local/mysql/bin ;;
esac
