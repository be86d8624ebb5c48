import{a,b}from"./chunk-LRG4BDDU.js";import"./chunk-KMC35U7Q.js";import"./chunk-UA2BDZRN.js";export{a as NotFound,b as NotFoundPage};
