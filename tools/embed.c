/* embed: files → one C file with their bytes. Used by the build:
 *     embed SYMBOL ROOT FILE… > out.c
 * FILE is stored under its path relative to ROOT. */
#include <stdio.h>
#include <string.h>

static int put_bytes(const char *path) {
    FILE *f = fopen(path, "rb");
    int c, n = 0;
    if (!f)
        return -1;
    while ((c = getc(f)) != EOF)
        printf("%d,%s", c, ++n % 24 ? "" : "\n");
    fclose(f);
    return printf("0\n") < 0 ? -1 : n;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    const char *symbol = argv[1], *root = argv[2];
    size_t skip = strlen(root) + 1;
    printf("#include \"base/data.h\"\n");
    for (int i = 3; i < argc; i++) {
        printf("static const unsigned char file_%d[] = {\n", i);
        if (put_bytes(argv[i]) < 0) {
            fprintf(stderr, "embed: cannot read %s\n", argv[i]);
            return 1;
        }
        printf("};\n");
    }
    printf("const struct sc__data_file %ss[] = {\n", symbol);
    for (int i = 3; i < argc; i++)
        printf("{\"%s\", file_%d, sizeof file_%d - 1},\n", argv[i] + skip, i, i);
    printf("{0, 0, 0}};\nconst unsigned %s_count = %d;\n", symbol, argc - 3);
    return 0;
}
