/* The functions that the library exports. */

#ifndef YK_API_H
#define YK_API_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define API __declspec(dllexport)
#else
#define API __attribute__((visibility("default")))
#endif

#endif
