"""Documents that are read and written in processes of their own, with limits.

    this process                       template                     worker, one a document
    Readers.open      -- start ------> fork -------------------->   limits itself
                      -- content ------------------------------->   format.read
                      <- texts ----------------------------------
                      -- translations -------------------------->   document.render
                      <- file -----------------------------------
                      -- end --------> kill, wait

The template loads the libraries once. A worker is a copy of it, so it starts in milliseconds, and
what one document did to its process never reaches another document. Nothing is pickled.
"""
