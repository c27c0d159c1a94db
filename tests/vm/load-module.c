// SPDX-License-Identifier: GPL-2.0
/*
 * Loads and unloads kernel modules inside the emulated machines.
 *
 *	load-module load FILE.ko [PARAMETER=VALUE ...]
 *	load-module unload NAME
 *
 * The exit status is 0, or 1 after a message that names the error.
 */
#include <errno.h>
#include <fcntl.h>
#include <libkmod.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int report(const char *action, const char *object, int error)
{
	if (!error)
		return EXIT_SUCCESS;
	fprintf(stderr, "%s %s: %s (errno %d)\n", action, object,
		strerror(-error), -error);
	return EXIT_FAILURE;
}

static char *join(char **words, int count)
{
	size_t size = 1;
	char *joined;
	int i;

	for (i = 0; i < count; i++)
		size += strlen(words[i]) + 1;
	joined = calloc(1, size);
	if (!joined)
		return NULL;
	for (i = 0; i < count; i++) {
		if (i)
			strcat(joined, " ");
		strcat(joined, words[i]);
	}
	return joined;
}

static int load(struct kmod_ctx *context, const char *path,
		const char *parameters)
{
	struct kmod_module *module;
	int error;

	error = kmod_module_new_from_path(context, path, &module);
	if (error)
		return error;
	error = kmod_module_insert_module(module, 0, parameters);
	kmod_module_unref(module);
	return error;
}

static int unload(struct kmod_ctx *context, const char *name)
{
	struct kmod_module *module;
	int error;

	error = kmod_module_new_from_name(context, name, &module);
	if (error)
		return error;
	/* Without O_NONBLOCK libkmod could wait for a module in use. */
	error = kmod_module_remove_module(module, O_NONBLOCK);
	kmod_module_unref(module);
	return error;
}

int main(int argc, char **argv)
{
	const char *no_configuration = NULL;
	struct kmod_ctx *context;
	char *parameters;
	int status;

	if (argc < 3 || (strcmp(argv[1], "load") && strcmp(argv[1], "unload"))) {
		fprintf(stderr,
			"usage: %s load FILE.ko [PARAMETER=VALUE ...] | unload NAME\n",
			argv[0]);
		return EXIT_FAILURE;
	}
	context = kmod_new(NULL, &no_configuration);
	if (!context)
		return report("libkmod", "context", -ENOMEM);
	if (!strcmp(argv[1], "unload")) {
		status = report("unload", argv[2], unload(context, argv[2]));
	} else {
		parameters = join(argv + 3, argc - 3);
		status = report("load", argv[2],
				parameters ? load(context, argv[2], parameters)
					   : -ENOMEM);
		free(parameters);
	}
	kmod_unref(context);
	return status;
}
