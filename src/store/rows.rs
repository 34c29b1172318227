//! From rows of the tables to the words of the model.
