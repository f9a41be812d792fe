# With namespaces.py and skills_path.py before it: succeeds if a folder, the argument, can be shown.

import os, sys
os.listdir(sys.argv[1])
enter_namespaces(NEW_MOUNTS)
show_skills(sys.argv[1])
os.listdir(SKILLS_PATH)
