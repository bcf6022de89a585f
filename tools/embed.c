/* embed: files → one C file with their bytes. Used by the build:
 *     embed SYMBOL ROOT FILE… > out.c
 * FILE is stored under its path relative to ROOT. */
#include <stdio.h>
#include <string.h>

/* As a string, which compilers read many times faster than numbers. Question marks
 * are escaped: two and a third character would be one of C's trigraphs. */
static void put_byte(int c) {
    if (c == '\n')
        printf("\\n\"\n\"");
    else if (c < ' ' || c > '~' || c == '"' || c == '\\' || c == '?')
        printf("\\%03o", (unsigned)c);
    else
        putchar(c);
}

static int put_bytes(const char *path) {
    FILE *f = fopen(path, "rb");
    int c;
    if (!f)
        return -1;
    putchar('"');
    while ((c = getc(f)) != EOF)
        put_byte(c);
    putchar('"');
    return fclose(f);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    const char *symbol = argv[1], *root = argv[2];
    size_t skip = strlen(root) + 1;
    printf("#include \"base/data.h\"\n");
    for (int i = 3; i < argc; i++) {
        printf("static const unsigned char file_%d[] =\n", i);
        if (put_bytes(argv[i]) < 0) {
            fprintf(stderr, "embed: cannot read %s\n", argv[i]);
            return 1;
        }
        printf(";\n");
    }
    printf("const struct sc__data_file %ss[] = {\n", symbol);
    for (int i = 3; i < argc; i++)
        printf("{\"%s\", file_%d, sizeof file_%d - 1},\n", argv[i] + skip, i, i);
    printf("{0, 0, 0}};\nconst unsigned %s_count = %d;\n", symbol, argc - 3);
    return 0;
}
