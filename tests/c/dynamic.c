/* Loaded by name at run time, as plug-ins do; the names alone are enough. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int count, char **arguments) {
    void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    uint32_t (*version)(void);
    *(void **)&version = dlsym(library, "zuno_abi_version");
    return version != NULL && version() == 1 && dlclose(library) == 0 ? 0 : 1;
}
